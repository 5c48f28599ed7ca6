-- The interface that sysbench 1.0 gives to scripts. `host` has what only the program can do; a
-- script reaches it by these functions alone.
local host, facts = ...

local error, ipairs, pairs, pcall, rawget = error, ipairs, pairs, pcall, rawget
local select, setmetatable, tostring, type, unpack = select, setmetatable, tostring, type, unpack
local concat, format, sort, sub = table.concat, string.format, table.sort, string.sub
local math = math

-- A table of the interface: a name that is not in it is an error with the nearest one.
local function fixed(title, fields)
   local names = {}
   for name in pairs(fields) do names[#names + 1] = name end
   sort(names)
   return setmetatable(fields, {
      __index = function(_, name)
         error(host.unknown(title, tostring(name), concat(names, ",")), 2)
      end,
   })
end

-- ---- what there is of Lua's own libraries -------------------------------------------------------

local function shown(separator, ...)
   local parts = {}
   for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
   return concat(parts, separator)
end

function print(...)
   host.print(shown("\t", ...) .. "\n")
end

local function refuser(name, instead)
   return function()
      error(name .. " is not given to scripts: they reach nothing but SQL. " .. instead, 2)
   end
end

local out = {}
out.__index = out
function out:write(...)
   host.print(shown("", ...))
   return self
end
function out:flush() end
function out:setvbuf() end
function out:close() end
out = setmetatable({}, out)

io = {stdout = out, stderr = out, write = function(...) return out:write(...) end}
function io.flush() end
for _, name in ipairs {"open", "popen", "lines", "read", "input", "output", "tmpfile", "close"} do
   io[name] = refuser("io." .. name, "Pass values as options, and print results")
end

os = {clock = os.clock, date = os.date, difftime = os.difftime, time = os.time}
for _, name in ipairs {"execute", "remove", "rename", "tmpname", "setlocale"} do
   os[name] = refuser("os." .. name, "Drop it")
end
os.getenv = refuser("os.getenv", "Pass the value as an option")
function os.exit(code)
   error("the script ended itself by os.exit(" .. tostring(code == nil and "" or code) .. ")", 2)
end

local function text_only(text)
   if sub(text, 1, 1) == "\27" then error("compiled Lua is not given to scripts. Use its text", 3) end
   return text
end

function loadstring(text, name)
   return host.load(text_only(text), name or text)
end

function load(chunk, name)
   if type(chunk) == "function" then
      local parts = {}
      for part in chunk do
         if part == "" then break end
         parts[#parts + 1] = part
      end
      chunk = concat(parts)
   end
   return host.load(text_only(chunk), name or "load")
end

local loaded = {}
function require(name)
   if loaded[name] == nil then
      local module, message = host.module(name)
      if not module then error(message, 2) end
      loaded[name] = true
      local result = module(name)
      if result ~= nil then loaded[name] = result end
   end
   return loaded[name]
end

dofile = refuser("dofile", "Use require")
loadfile = refuser("loadfile", "Use require")
string.dump = refuser("string.dump", "Use the text of the function")
-- Its finalizers would run in the midst of anything.
newproxy = nil
jit = {version = jit.version, version_num = jit.version_num, os = jit.os, arch = jit.arch}

-- ---- sysbench -----------------------------------------------------------------------------------

local NONE, IGNORABLE, FATAL = 0, 1, 2
local RESTART = 1

sysbench = {
   tid = facts.tid,
   version = "1.0.20",
   version_string = "sysbench 1.0.20",
   error = {NONE = 0, RESTART_EVENT = RESTART},
   hooks = {},
   opt = {},
}

sysbench.cmdline = {
   command = facts.command,
   script_path = facts.script,
   argv = {},
   PARALLEL_COMMAND = true,
   ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5,
   ARG_LIST = 6, ARG_FILE = 7, ARG_MAX = 8,
}
function sysbench.cmdline.print_test_options() host.print(facts.help or "") end

sysbench.rand = fixed("sysbench.rand", {
   default = host.draw,
   uniform = host.uniform,
   gaussian = host.gaussian,
   special = host.special,
   pareto = host.pareto,
   zipfian = host.zipfian,
   unique = host.unique,
   string = host.string,
   uniform_double = host.double,
   uniform_uint64 = host.bits,
})

-- Counts of values in classes of equal width by their logarithms.
local Histogram = {}
function Histogram:update(value)
   local place = math.floor((math.log(value) - self.first) * self.scale + 0.5)
   place = math.max(0, math.min(self.size - 1, place))
   self.counts[place] = (self.counts[place] or 0) + 1
end
function Histogram:print()
   local most = 0
   for place = 0, self.size - 1 do most = math.max(most, self.counts[place] or 0) end
   if most == 0 then return end
   host.print("       value  ------------- distribution ------------- count\n")
   for place = 0, self.size - 1 do
      local count = self.counts[place] or 0
      if count > 0 then
         local stars = ("*"):rep(math.floor(count * 40 / most + 0.5))
         local value = math.exp(self.first + place / self.scale)
         host.print(format("%12.3f |%-40s %d\n", value, stars, count))
      end
   end
end
Histogram = {__index = fixed("histogram", Histogram), __tostring = function()
   return "<sb_histogram>"
end}

sysbench.histogram = fixed("sysbench.histogram", {
   new = function(size, least, greatest)
      if not (size >= 2 and least > 0 and greatest > least) then
         error("a histogram has at least 2 classes, and values above 0 from least to greatest", 2)
      end
      local first = math.log(least)
      local scale = (size - 1) / (math.log(greatest) - first)
      return setmetatable({size = size, first = first, scale = scale, counts = {}}, Histogram)
   end,
})

-- ---- SQL ----------------------------------------------------------------------------------------

local TYPES = {
   NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7,
   DATE = 8, DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
}
-- How their values are sent: as whole numbers, as numbers, as text.
local WHOLE, NUMBER, TEXT = 1, 2, 3
local KINDS = {
   [1] = WHOLE, [2] = WHOLE, [3] = WHOLE, [4] = WHOLE, [5] = NUMBER, [6] = NUMBER,
   [11] = TEXT, [12] = TEXT,
}
local FAILED, ROWS = 2, 1

-- What the last call of the host failed with becomes an error of the script.
local function fail(connection, query)
   local errno, state, message, is_ignorable = host.failure()
   connection.error = is_ignorable and IGNORABLE or FATAL
   connection.sql_errno, connection.sql_state, connection.sql_errmsg = errno, state, message
   local told = {
      connection = connection, query = query,
      sql_errno = errno, sql_state = state, sql_errmsg = message,
   }
   local hook = sysbench.hooks.sql_error_ignorable
   if is_ignorable or (state ~= "" and type(hook) == "function" and hook(told)) then
      host.ignored()
      told.errcode = RESTART
      error(told, 3)
   end
   error(format("SQL error, errno = %d, state = '%s': %s", errno, state, message), 3)
end

local Result = {}
function Result:fetch_row()
   if not self.connection then
      error("rows of a prepared statement are not kept. Use query in place of prepare", 2)
   end
   if self.at >= self.nrows then return nil end
   self.at = self.at + 1
   local row = host.row(self.connection, self.serial, self.at)
   if not row then
      error("the rows have gone: the connection has executed another statement since", 2)
   end
   return row
end
function Result:free() return true end
Result = {__index = fixed("result", Result)}

-- Of a parameter; false is NULL.
local Number = {}
function Number:set(value)
   self.value = value or false
end
function Number:set_rand_str()
   error("set_rand_str needs a parameter of type CHAR or VARCHAR", 2)
end
Number = {__index = fixed("parameter", Number)}

local Text = {}
function Text:set(value)
   if value ~= nil and #value > self.max_len then value = sub(value, 1, self.max_len) end
   self.value = value or false
end
function Text:set_rand_str(template)
   self.value = host.string(sub(template, 1, self.max_len))
end
Text = {__index = fixed("parameter", Text)}

local Statement = {}
function Statement:bind_create(kind, max_len)
   local sent = KINDS[kind]
   if not sent then error("unsupported type of a parameter: " .. tostring(kind), 2) end
   local parameter = {kind = sent, max_len = max_len or 0, value = false}
   return setmetatable(parameter, sent == TEXT and Text or Number)
end
function Statement:bind_param(...)
   local count = select("#", ...)
   if count < 1 then return nil end
   local parameters, kinds = {...}, {}
   for i = 1, count do kinds[i] = parameters[i].kind end
   self.parameters, self.count = parameters, count
   if not host.bind(self.id, unpack(kinds, 1, count)) then
      fail(self.connection, self.query)
   end
   return 0
end
function Statement:execute()
   local count, parameters, status, rows = self.count, self.parameters, nil, nil
   if count == 1 then
      status, rows = host.execute(self.id, parameters[1].value)
   elseif count == 0 then
      status, rows = host.execute(self.id)
   else
      local values = self.values
      for i = 1, count do values[i] = parameters[i].value end
      status, rows = host.execute(self.id, unpack(values, 1, count))
   end
   if status == FAILED then fail(self.connection, "<prepared statement>") end
   if status == ROWS then
      local result = self.result
      result.nrows = rows
      return result
   end
   return nil
end
function Statement:close()
   host.close(self.id)
   return 0
end
Statement = {__index = fixed("statement", Statement), __tostring = function()
   return "<sql_statement>"
end}

local Connection = {}
function Connection:query(sql)
   local status, rows, fields, serial = host.query(self.id, sql)
   if status == FAILED then fail(self, sql) end
   if status == ROWS then
      local result = {nrows = rows, nfields = fields, connection = self.id, serial = serial, at = 0}
      return setmetatable(result, Result)
   end
   return nil
end
function Connection:query_row(sql)
   local result = self:query(sql)
   if result == nil or result.nrows == 0 then return nil end
   return unpack(result:fetch_row(), 1, result.nfields)
end
function Connection:prepare(sql)
   local id = host.prepare(self.id, sql)
   if not id then fail(self, sql) end
   return setmetatable({
      id = id, connection = self, query = sql, count = 0, parameters = {}, values = {},
      result = setmetatable({nrows = 0, nfields = 0, connection = false}, Result),
   }, Statement)
end
function Connection:disconnect()
   host.disconnect(self.id)
   return true
end
function Connection:reconnect()
   if not host.reconnect(self.id) then fail(self, "reconnect") end
   return true
end
-- Rows are collected, and sent as one statement of at most this size, with the byte that ends it.
local PACKET = 512 * 1024
local function send_rows(connection)
   if connection.bulk_count == 0 then return end
   local text = connection.bulk_head .. concat(connection.bulk_rows, ",", 1, connection.bulk_count)
   connection.bulk_rows, connection.bulk_count = {}, 0
   connection.bulk_size = #connection.bulk_head
   if host.query(connection.id, text) == FAILED then fail(connection, text) end
end
function Connection:bulk_insert_init(head)
   if #head + 1 > PACKET then error("the beginning of the INSERT is too long", 2) end
   self.bulk_head, self.bulk_rows, self.bulk_count, self.bulk_size = head, {}, 0, #head
   return true
end
function Connection:bulk_insert_next(row)
   if not self.bulk_head then error("bulk_insert_next before bulk_insert_init", 2) end
   local size = self.bulk_size + #row
   if size + 1 + (self.bulk_count > 0 and 1 or 0) > PACKET then
      if self.bulk_count == 0 then error("the row is longer than 512 KiB", 2) end
      send_rows(self)
      size = self.bulk_size + #row
   end
   self.bulk_size = size + (self.bulk_count > 0 and 1 or 0)
   self.bulk_count = self.bulk_count + 1
   self.bulk_rows[self.bulk_count] = row
   return true
end
function Connection:bulk_insert_done()
   if self.bulk_head then
      send_rows(self)
      self.bulk_head = false
   end
   return true
end
Connection = {__index = fixed("connection", Connection), __tostring = function()
   return "<sql_connection>"
end}

local Driver = {}
function Driver:name() return facts.driver end
function Driver:connect()
   local id = host.connect()
   local connection = setmetatable({
      id = id, error = NONE, sql_errno = 0, sql_state = "", sql_errmsg = "", bulk_head = false,
   }, Connection)
   if not id then fail(connection, "connect") end
   return connection
end
Driver = {__index = fixed("driver", Driver), __tostring = function() return "<sql_driver>" end}

local function driver(name)
   if name ~= nil and name ~= facts.driver then
      error("the driver is " .. facts.driver .. ", but the script asks for " .. tostring(name), 2)
   end
   return setmetatable({sname = facts.driver}, Driver)
end

sysbench.sql = fixed("sysbench.sql", {
   driver = driver,
   type = fixed("sysbench.sql.type", TYPES),
   error = {NONE = NONE, IGNORABLE = IGNORABLE, FATAL = FATAL},
})

-- ---- reports of a script's own ------------------------------------------------------------------

function sysbench.report_csv(stat)
   local s = stat.time_interval
   print(format("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f",
      stat.time_total, stat.threads_running, stat.events / s,
      (stat.reads + stat.writes + stat.other) / s, stat.reads / s, stat.writes / s, stat.other / s,
      stat.latency_pct * 1000, stat.errors / s, stat.reconnects / s))
end

local json_begun = false
function sysbench.report_json(stat)
   local s = stat.time_interval
   local fields = {
      format('"time": %.0f', stat.time_total),
      format('"threads": %u', stat.threads_running),
      format('"tps": %.2f', stat.events / s),
      format('"qps": {"total": %.2f, "reads": %.2f, "writes": %.2f, "other": %.2f}',
         (stat.reads + stat.writes + stat.other) / s, stat.reads / s, stat.writes / s,
         stat.other / s),
      format('"latency": %.2f', stat.latency_pct * 1000),
      format('"errors": %.2f', stat.errors / s),
      format('"reconnects": %.2f', stat.reconnects / s),
   }
   host.print((json_begun and ",\n" or "[\n") .. "  {" .. concat(fields, ", ") .. "}")
   json_begun = true
end

function sysbench.report_default(stat)
   local s = stat.time_interval
   print(format("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) " ..
      "lat (ms,%u%%): %4.2f err/s: %4.2f reconn/s: %4.2f",
      stat.time_total, stat.threads_running, stat.events / s,
      (stat.reads + stat.writes + stat.other) / s, stat.reads / s, stat.writes / s, stat.other / s,
      sysbench.opt.percentile, stat.latency_pct * 1000, stat.errors / s, stat.reconnects / s))
end

-- ---- names from before sysbench 1.0 -------------------------------------------------------------

thread_id = facts.tid
test = facts.script
sb_rand = sysbench.rand.default
sb_rand_str = sysbench.rand.string
sb_rand_uniform = sysbench.rand.uniform
sb_rand_gaussian = sysbench.rand.gaussian
sb_rand_special = sysbench.rand.special
function sb_rnd() return host.bits() % 4294967296 end
function sb_rand_uniq(low, high)
   low, high = low or 0, high or 4294967295
   local number
   repeat number = host.unique() until number >= low and number <= high
   return number
end

local only
function db_connect()
   db_driver = facts.driver
   only = only or driver():connect()
end
function db_disconnect() if only then only:disconnect() end only = nil end
local function old(method)
   return function(...)
      db_connect()
      return Connection.__index[method](only, ...)
   end
end
function db_query(sql)
   db_connect()
   Connection.__index.query(only, sql)
end
db_bulk_insert_init = old("bulk_insert_init")
db_bulk_insert_next = old("bulk_insert_next")
db_bulk_insert_done = old("bulk_insert_done")
function db_prepare(sql)
   db_connect()
   return Connection.__index.prepare(only, sql)
end
-- Values are read from the table whenever the statement is executed.
local LONGEST_TEXT = 65535
function db_bind_param(statement, values)
   local parameters = {}
   for i = 1, #values do
      local is_number = type(values[i]) == "number"
      parameters[i] = statement:bind_create(is_number and TYPES.INT or TYPES.VARCHAR, LONGEST_TEXT)
   end
   statement:bind_param(unpack(parameters))
   statement.given = values
   return 0
end
function db_execute(statement)
   local given = rawget(statement, "given")
   if given then
      for i, parameter in ipairs(statement.parameters) do parameter:set(given[i]) end
   end
   return statement:execute()
end
function db_store_results() end
function db_free_results(result) if result then result:free() end end
function db_close(statement) statement:close() end
DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = NONE, IGNORABLE, FATAL

-- What of C's functions scripts are known to call by LuaJIT's ffi.
ffi = {cdef = function() end}
ffi.C = fixed("ffi.C", {
   usleep = host.usleep,
   sb_counter_inc = function(_, kind) host.count(kind) end,
   SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_EVENT = 3, SB_CNT_TRX = 3,
   SB_CNT_ERROR = 4, SB_CNT_RECONNECT = 5,
})
loaded.ffi = ffi

-- ---- what the program calls ---------------------------------------------------------------------

local DONE, AGAIN, STOPPED, BROKEN, MISSING = 0, 1, 2, 3, 4

local function told(problem)
   if type(problem) == "table" and problem.sql_errmsg then
      return format("SQL error, errno = %d, state = '%s': %s",
         problem.sql_errno, problem.sql_state, problem.sql_errmsg)
   end
   return tostring(problem)
end

local own = {}

-- Runs the event once.
function own.event(tid)
   local is_done, result = pcall(event, tid)
   if is_done then
      if result then return STOPPED end
      return DONE
   end
   if type(result) == "table" and result.errcode == RESTART then
      local hook = sysbench.hooks.before_restart_event
      if hook then
         local is_ready, problem = pcall(hook, result)
         if not is_ready then return BROKEN, told(problem) end
      end
      return AGAIN, told(result)
   end
   return BROKEN, told(result)
end

local function call(what, ...)
   local is_done, result = pcall(what, ...)
   if not is_done then return BROKEN, told(result) end
   if result == false then return BROKEN, "it returned false" end
   return DONE
end

-- Runs a global function, if there is one.
function own.call(name, ...)
   local what = rawget(_G, name)
   if type(what) ~= "function" then return MISSING end
   return call(what, ...)
end

function own.has(name)
   return type(rawget(_G, name)) == "function"
end

-- Runs a command: one of the script's own, or the function of that name.
function own.command(name)
   local commands = sysbench.cmdline.commands
   local command = type(commands) == "table" and commands[name]
   if command and command[1] then return call(command[1]) end
   return own.call(name)
end

function own.commands()
   local found = {}
   local commands = sysbench.cmdline.commands
   if type(commands) == "table" then
      for name, command in pairs(commands) do
         if type(command) == "table" and command[1] then
            found[#found + 1] = {name = name, parallel = command[2] == true}
         end
      end
   end
   for _, name in ipairs {"prepare", "cleanup", "help"} do
      local is_there = type(commands) == "table" and commands[name]
      if not is_there and own.has(name) then found[#found + 1] = {name = name, parallel = false} end
   end
   sort(found, function(a, b) return a.name < b.name end)
   return found
end

local function written(value)
   if type(value) == "boolean" then return value and "on" or "off" end
   if type(value) == "table" then return concat(value, ",") end
   if value ~= nil then return tostring(value) end
end

-- The declared options in the order of their names; nil if the script declares none.
function own.options()
   local options = sysbench.cmdline.options
   if options == nil then return nil end
   if type(options) ~= "table" then error("sysbench.cmdline.options is no table", 0) end
   local found = {}
   for name, one in pairs(options) do
      if type(name) ~= "string" or type(one) ~= "table" or type(one[1]) ~= "string" then
         error("sysbench.cmdline.options." .. tostring(name) ..
            " is not written as {\"what it is\", default}", 0)
      end
      local kinds = {boolean = 1, number = 4, string = 5, table = 6, ["nil"] = 5}
      local kind = one[3] or kinds[type(one[2])]
      if type(kind) ~= "number" then error("the option " .. name .. " has no known type", 0) end
      found[#found + 1] = {name = name, about = one[1], default = written(one[2]), kind = kind}
   end
   sort(found, function(a, b) return a.name < b.name end)
   return found
end

function own.option(name, value, is_global)
   sysbench.opt[name] = value
   if is_global and type(rawget(_G, name)) ~= "function" then _G[name] = value end
end

function own.hook(name)
   return type(sysbench.hooks[name]) == "function"
end

function own.report(name, stat)
   return call(sysbench.hooks[name], stat)
end

function own.ended()
   if json_begun then host.print("\n]\n") end
end

return own
