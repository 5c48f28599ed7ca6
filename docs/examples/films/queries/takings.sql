select shop_id, amount, payments from takings order by shop_id
