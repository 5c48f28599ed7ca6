-- The statement of random-points in the published suite; sysbench's own select_random_points
-- searches for values of k and returns whole rows. --points is the length of the list.

require("oltp_common")

sysbench.cmdline.options.points = {"Keys of the list", 1000}

function prepare_statements()
   local marks = string.rep("?, ", sysbench.opt.points - 1) .. "?"
   stmt.points = con:prepare("SELECT c FROM sbtest1 WHERE id IN (" .. marks .. ")")
   keys = {}
   for i = 1, sysbench.opt.points do
      keys[i] = stmt.points:bind_create(sysbench.sql.type.INT)
   end
   stmt.points:bind_param(unpack(keys))
end

function close_statements()
   stmt.points:close()
end

function event()
   for i = 1, sysbench.opt.points do
      keys[i]:set(sysbench.rand.default(1, sysbench.opt.table_size))
   end
   stmt.points:execute()
end
