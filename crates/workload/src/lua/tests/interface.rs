//! What scripts find, and what they get from it.

use super::*;

const TABLE: &str = "
function thread_init(tid)
   drv = sysbench.sql.driver()
   con = drv:connect()
   con:query('create table if not exists t (id integer primary key, k int, c text)')
end
function thread_done() con:disconnect() end
";

#[test]
fn rows_are_read_as_texts() {
    let bench = Bench::new();
    let printed = bench.printed(&format!(
        "{TABLE}
function event()
   con:bulk_insert_init('insert into t (id, k, c) values')
   for i = 1, 3 do con:bulk_insert_next(string.format('(%d, %d, null)', i, i * 10)) end
   con:bulk_insert_done()
   local rs = con:query('select id, k, c from t order by id desc')
   print(rs.nrows, rs.nfields)
   local row = rs:fetch_row()
   print(row[1], row[2], row[3], type(row[1]))
   rs:fetch_row() rs:fetch_row()
   print(rs:fetch_row())
   print(con:query_row('select count(*), sum(k) from t'))
   print(con:query_row('select 1 where 1 = 0'))
   print(con:query('update t set k = 0 where id = 1'))
end"
    ));
    let expected = "3\t3\n3\t30\tnil\tstring\nnil\n3\t60\nnil\nnil\n";
    assert_eq!(printed.unwrap(), expected);
}

#[test]
fn many_rows_are_taken_one_after_another() {
    let bench = Bench::new();
    let printed = bench.printed(&format!(
        "{TABLE}
function event()
   con:query([[with recursive n(i) as (select 1 union all select i + 1 from n
      where i < 5000) insert into t (id) select i from n]])
   local rs, sum = con:query('select id, id + 1 from t order by id'), 0
   for i = 1, rs.nrows do sum = sum + rs:fetch_row()[2] end
   print(rs.nrows, sum, rs:fetch_row())
end"
    ));
    assert_eq!(printed.unwrap(), "5000\t12507500\tnil\n");
}

#[test]
fn statements_are_prepared_with_parameters() {
    let bench = Bench::new();
    let text = format!(
        "{TABLE}
function event()
   local t = sysbench.sql.type
   local insert = con:prepare('insert into t (id, k, c) values (?, ?, ?)')
   local id, k = insert:bind_create(t.INT), insert:bind_create(t.BIGINT)
   local c = insert:bind_create(t.CHAR, 5)
   insert:bind_param(id, k, c)
   id:set(7.9) k:set(nil) c:set('abcdefgh')
   print(insert:execute())
   id:set(8) k:set(5) c:set_rand_str('##-@@')
   insert:execute()
   insert:close()
   local select = con:prepare('select c from t where id = ?')
   local key = select:bind_create(t.INT)
   select:bind_param(key)
   key:set(7)
   print(select:execute().nrows)
   key:set(6)
   print(select:execute().nrows)
   print(con:query_row('select id, k is null, c from t where id = 7'))
   print((con:query_row('select c from t where id = 8')):match('^%d%d%-%l%l$') ~= nil)
end"
    );
    assert_eq!(bench.printed(&text).unwrap(), "nil\n1\n0\n7\t1\tabcde\ntrue\n");
    let mut client = bench.client(&text.replace("(7.9)", "(17)").replace("(8)", "(18)"), &[]);
    let client = client.as_mut().unwrap();
    client.take_counts();
    client.event().unwrap();
    let statements = client.take_counts().effect.statements;
    assert_eq!((statements.reads, statements.writes, statements.others), (4, 2, 0));
}

#[test]
fn options_are_declared_and_given() {
    let bench = Bench::new();
    let text = "
sysbench.cmdline.options = {
   number = {'a number', 7}, flag = {'a flag', true}, text = {'a text'},
   list = {'a list', {'a', 'b'}}, size = {'a size', '1K', sysbench.cmdline.ARG_SIZE},
}
sysbench.cmdline.options.later = {'added', 'x'}
function thread_init()
   local o = sysbench.opt
   print(o.number, o.flag, o.text == '', #o.list, o.size, o.later, o.threads, o.rand_type)
end
function event() end";
    bench.client(text, &["number=0.5", "flag=off", "list=c", "later=y", "threads=3"]).unwrap();
    let expected = "0.5\tfalse\ttrue\t1\t1024\ty\t3\tspecial\n";
    assert_eq!(*bench.printed.lock().unwrap(), expected);
    let error = bench.client(text, &["nubmer=1"]).err().unwrap();
    assert!(error.contains("invalid option: --nubmer: did you mean 'number'?"), "{error}");
    let error = script("sysbench.cmdline.options = {a = 7}").unwrap_err().to_string();
    assert!(error.contains("sysbench.cmdline.options.a is not written as"), "{error}");
}

#[test]
fn commands_are_functions_or_declared() {
    let script = script(
        "function prepare() end function event() end
         sysbench.cmdline.commands = {
            warm = {function() print('warm', sysbench.tid) end,
               sysbench.cmdline.PARALLEL_COMMAND},
         }",
    );
    let script = script.unwrap();
    let names: Vec<(&str, bool)> =
        script.commands.iter().map(|it| (it.name.as_str(), it.is_parallel)).collect();
    assert_eq!(names, [("prepare", false), ("warm", true)]);
    let bench = Bench::new();
    let mut options = script.options().unwrap();
    options.set("threads=3").unwrap();
    script.run_command(&bench.settings(&script), &options, "warm").unwrap();
    let printed = bench.printed.lock().unwrap().clone();
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["warm\t0", "warm\t1", "warm\t2"]);
}

#[test]
fn an_event_begins_again_after_an_error_that_is_ignored() {
    let bench = Bench::new();
    let text = format!(
        "{TABLE}
tries = 0
function sysbench.hooks.sql_error_ignorable(e)
   print(e.sql_errno, e.sql_state, e.sql_errmsg, e.query) return true
end
function sysbench.hooks.before_restart_event(e) print('again', e.errcode) end
function event()
   tries = tries + 1
   con:query(tries == 1 and 'select missing' or 'select 1')
end"
    );
    let mut client = bench.client(&text, &[]).unwrap();
    client.take_counts();
    assert!(matches!(client.event().unwrap(), ClientEvent::Again));
    assert!(matches!(client.event().unwrap(), ClientEvent::Done));
    assert_eq!(client.take_counts().errors, 1);
    let printed = bench.printed.lock().unwrap().clone();
    assert_eq!(printed, "0\t1\tno such column: missing\tselect missing\nagain\t1\n");
}

#[test]
fn what_fails_says_where_and_why() {
    let bench = Bench::new();
    for (event, told) in [
        ("con:query('select missing')", "s.lua:9: SQL error, errno = 0, state = '1': no such col"),
        ("sysbench.rand.unifrom(1, 2)", "s.lua:9: unknown name sysbench.rand.unifrom: did you "),
        ("con:qeury('select 1')", "s.lua:9: unknown name connection.qeury: did you mean 'query'?"),
        ("nothing()", "s.lua:9: attempt to call global 'nothing' (a nil value)"),
        ("con:prepare('select ?'):execute()", "bind_param was not called for the statement"),
        ("con:prepare('select ?'):bind_param()", ""),
        ("con:disconnect() con:query('select 1')", "a connection that it has closed"),
        ("local rs = con:query('select 1') con:query('select 2') rs:fetch_row()", "have gone"),
        ("con:prepare('select 1'):execute():fetch_row()", "rows of a prepared statement are not"),
        ("sysbench.sql.driver('oracle')", "the driver is sqlite, but the script asks for oracle"),
        ("error('by itself')", "s.lua:9: by itself"),
    ] {
        let text = format!("{TABLE}function event()\n{event}\nend");
        let ended = bench.client(&text, &[]).unwrap().event();
        match (ended, told) {
            (Ok(_), "") => {}
            (Err(error), told) => assert!(error.to_string().contains(told), "{event}: {error}"),
            (ended, told) => panic!("{event}: {ended:?}, {told}"),
        }
    }
    let error = bench.client("function thread_init() x.y = 1 end", &[]).err().unwrap();
    assert!(error.contains("thread_init: s.lua:1: attempt to index global 'x'"), "{error}");
}

#[test]
fn a_text_that_is_no_lua_is_told_by_line_and_column() {
    for (text, told) in [
        ("x = 1\nlocal y = = 2\n", "s.lua:2:11: unexpected symbol near '='"),
        ("x = (1\n", "s.lua:2:1: ')' expected (to close '(' at line 1) near '<eof>'"),
        ("function event(\n  return 1\nend\n", "s.lua:2:3: <name> or '...' expected near 'return'"),
        ("x = 'abc\n", "s.lua:1:5: unfinished string near ''abc'"),
        ("if x then\ny = 1\n", "s.lua:3:1: 'end' expected (to close 'if' at line 1) near '<eof>'"),
    ] {
        let error = script(text).unwrap_err().to_string();
        assert_eq!(error, told);
    }
}

#[test]
fn scripts_from_before_the_interface_run() {
    let bench = Bench::new();
    let printed = bench.printed(
        "function thread_init() db_connect() db_query('create table old (id int)') end
         function event(thread)
            db_bulk_insert_init('insert into old values')
            db_bulk_insert_next('(1)') db_bulk_insert_next('(2)')
            db_bulk_insert_done()
            local n = sb_rand(1, 10)
            print(thread_id, db_driver, n >= 1 and n <= 10, #sb_rand_str('###'), threads)
         end",
    );
    assert_eq!(printed.unwrap(), "0\tsqlite\ttrue\t3\t1\n");
}

#[test]
fn statements_of_the_interface_before_read_their_values_from_a_table() {
    let bench = Bench::new();
    let printed = bench.printed(
        "function thread_init()
            db_connect()
            db_query('create table old (id int, c text)')
         end
         function event()
            local insert, values = db_prepare('insert into old values (?, ?)'), {1, 'one'}
            db_bind_param(insert, values)
            db_execute(insert)
            values[1], values[2] = 2, nil
            db_execute(insert)
            db_close(insert)
            local select = db_prepare('select c from old where id < 3')
            local result = db_execute(select)
            db_store_results(result)
            print(result.nrows)
            db_free_results(result)
            print(pcall(db_execute, insert))
         end",
    );
    let printed = printed.unwrap();
    assert!(printed.starts_with("2\nfalse\t"), "{printed}");
    assert!(printed.contains("uses a statement that it has closed"), "{printed}");
}

#[test]
fn a_histogram_counts_by_the_logarithm_and_prints_bars() {
    let bench = Bench::new();
    let printed = bench.printed(
        "function event()
            local h = sysbench.histogram.new(5, 1, 10000)
            for _, value in ipairs {0.5, 1, 9, 11, 90, 20000} do h:update(value) end
            h:print()
            print(pcall(sysbench.histogram.new, 1, 1, 2))
         end",
    );
    let printed = printed.unwrap();
    let bars = |stars: usize| format!("{:<40}", "*".repeat(stars));
    let expected = format!(
        "       value  ------------- distribution ------------- count\n\
         {:>12} |{} 2\n{:>12} |{} 2\n{:>12} |{} 1\n{:>12} |{} 1\n",
        "1.000",
        bars(40),
        "10.000",
        bars(40),
        "100.000",
        bars(20),
        "10000.000",
        bars(20)
    );
    assert!(printed.starts_with(&expected), "{printed}");
    assert!(printed.contains("a histogram has at least 2 classes"), "{printed}");
}

#[test]
fn from_one_seed_a_client_draws_what_sysbench_draws() {
    // Printed by Debian's sysbench 1.0.20 with --rand-seed=42.
    let bench = Bench::new();
    let printed = bench.printed(
        "function event()
            local r = sysbench.rand
            for _, draw in ipairs {r.uniform, r.default, r.gaussian, r.pareto} do
               print(draw(1, 10000), draw(1, 10000), draw(1, 10000))
            end
            print(r.string('###-@@@'))
         end",
    );
    assert_eq!(printed.unwrap(), DRAWN);
}

const DRAWN: &str = "3621\t7040\t7474\n5012\t4977\t5051\n5692\t4706\t4379\n1\t3294\t31\n\
                     843-gow\n";
