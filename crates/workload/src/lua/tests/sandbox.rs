//! What scripts do not get: each of these would be a way out of SQL.

use super::*;

#[test]
fn nothing_but_sql_is_reached() {
    let bench = Bench::new();
    let secret = "/etc/passwd";
    for (code, told) in [
        (format!("io.open('{secret}')"), "io.open is not given to scripts"),
        ("io.popen('id')".to_string(), "io.popen is not given to scripts"),
        ("for line in io.lines('x') do end".to_string(), "io.lines is not given to scripts"),
        ("os.execute('id')".to_string(), "os.execute is not given to scripts"),
        ("os.remove('x')".to_string(), "os.remove is not given to scripts"),
        ("os.rename('x', 'y')".to_string(), "os.rename is not given to scripts"),
        ("os.getenv('HOME')".to_string(), "os.getenv is not given to scripts"),
        ("os.exit(3)".to_string(), "the script ended itself by os.exit(3)"),
        (format!("dofile('{secret}')"), "dofile is not given to scripts"),
        (format!("loadfile('{secret}')"), "loadfile is not given to scripts"),
        (format!("require('{secret}')"), "cannot require"),
        ("require('../x')".to_string(), "cannot require"),
        ("package.loadlib('x', '*')".to_string(), "attempt to index global 'package'"),
        ("debug.getregistry()".to_string(), "attempt to index global 'debug'"),
        ("ffi.C.system('id')".to_string(), "unknown name ffi.C.system"),
        ("ffi.load('c')".to_string(), "attempt to call field 'load'"),
        ("ffi.new('int')".to_string(), "attempt to call field 'new'"),
        ("require('jit.util')".to_string(), "the module 'jit.util' is not"),
        ("jit.attach(print, 'trace')".to_string(), "attempt to call field 'attach'"),
        ("load('\\27LJ')".to_string(), "compiled Lua is not given to scripts"),
        ("loadstring('\\27LJ')".to_string(), "compiled Lua is not given to scripts"),
        ("newproxy(true)".to_string(), "attempt to call global 'newproxy'"),
        ("string.dump(print)".to_string(), "string.dump is not given to scripts"),
    ] {
        let error = bench.printed(&format!("function event() {code} end")).unwrap_err();
        assert!(error.contains(told), "{code}: {error}");
    }
}

#[test]
fn no_library_is_found_in_another_way() {
    let bench = Bench::new();
    // Everything that the global table leads to, through tables and metatables.
    let walked = bench.printed(
        "function event()
            local seen, found = {}, {}
            local function walk(value, name)
               if seen[value] then return end
               seen[value] = true
               if type(value) == 'function' then
                  local e = getfenv(value)
                  if e ~= _G then walk(e, name .. '.env') end
               end
               local meta = getmetatable(value)
               if type(meta) == 'table' then walk(meta, name .. '.meta') end
               if type(value) ~= 'table' then return end
               for key, inner in pairs(value) do
                  for _, bad in ipairs {'popen', 'execute', 'loadlib', 'getregistry', 'cdef',
                     'tmpfile', 'getupvalue', 'sethook', 'preload', 'dump'} do
                     if key == bad then found[#found + 1] = name .. '.' .. bad end
                  end
                  if type(inner) == 'table' or type(inner) == 'function' then
                     walk(inner, name .. '.' .. tostring(key))
                  end
               end
            end
            walk(_G, '_G') walk(getmetatable(''), 'string') walk(getfenv(0), 'thread')
            table.sort(found)
            print(table.concat(found, ' '))
         end",
    );
    // These are the refusals.
    let refused = "_G.ffi.cdef _G.io.popen _G.io.tmpfile _G.os.execute _G.string.dump\n";
    let walked = walked.unwrap();
    for name in walked.split_whitespace() {
        assert!(refused.contains(name.rsplit('.').next().unwrap()), "{walked}");
    }
    assert_eq!(walked.split_whitespace().count(), refused.split_whitespace().count(), "{walked}");
}

#[test]
fn texts_can_still_be_compiled() {
    let bench = Bench::new();
    let printed = bench.printed(
        "function event()
            print(loadstring('return 1 + 1')(), load(function() return nil end) ~= nil)
            print(select(2, loadstring('x =', '=mine')))
            local parts = {'return ', '7'}
            print(load(function() return table.remove(parts, 1) end)())
            io.write('a', 1, '\\n') io.stdout:write('b'):write('c\\n') io.stdout:flush()
            print(os.time() > 0, os.clock() >= 0, type(os.date()), jit.version:sub(1, 6))
         end",
    );
    let expected = "2\ttrue\nmine:1: unexpected symbol near '<eof>'\n7\na1\nbc\n\
                    true\ttrue\tstring\tLuaJIT\n";
    assert_eq!(printed.unwrap(), expected);
}

#[test]
fn statements_that_reach_files_or_programs_are_not_sent() {
    let bench = Bench::new();
    for call in ["con:query(sql)", "con:prepare(sql)", "db_query(sql)"] {
        let text = format!(
            "function event()
                db_connect()
                local con = sysbench.sql.driver():connect()
                local sql = \"copy p from program 'id'\"
                {call}
             end"
        );
        let error = bench.printed(&text).unwrap_err();
        let told = "COPY PROGRAM runs a program, which a script may not";
        assert!(error.contains(told), "{call}: {error}");
        let options = script(&text).unwrap().options().unwrap();
        let error = script(&text).unwrap().trial(Dialect::POSTGRES, &options).unwrap_err();
        assert!(error.to_string().contains(told), "{call}: {error}");
    }
}
