"""How a sub-job is worked through Scrapy."""
