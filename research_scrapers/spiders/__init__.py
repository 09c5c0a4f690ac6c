"""The spiders: short declarations over `crawling.spider.ResearchSpider`."""
