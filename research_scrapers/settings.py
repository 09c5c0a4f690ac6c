"""Scrapy settings. Each one that departs from Scrapy's default says why, with the default in brackets.

These are the defaults; what a person decided in ``research.toml`` or in the environment replaces them at the end.
"""

import os
from pathlib import Path

from research_scrapers import knobs

BOT_NAME = "research_scrapers"
SPIDER_MODULES = ["research_scrapers.spiders"]
NEWSPIDER_MODULE = "research_scrapers.spiders"
COMMANDS_MODULE = "research_scrapers.commands"  # [""] `crawl` with exit codes that mean something

# -- ours ---------------------------------------------------------------------------------------------------------
RESEARCH_DB = "research.db"  # where everything is stored
YOUTUBE_API_KEY = ""  # set: comments by the official Data API
BILIBILI_SESSDATA = ""  # the login cookie of a Bilibili account, if you have one
BILIBILI_COOKIES = ""  # or a cookies file (cookies.txt, JSON) that holds it
ORIGIN = ""  # a local replica's address; empty: the real sites
BLOBS = ""  # whole files: a folder or s3://bucket/prefix; empty: beside the database
PRIVACY = "keep"  # who wrote what: keep, pseudonymise or drop, before it is stored
COMMENTS_INFLIGHT_WINDOW = 3  # pages of one video in flight: its main chain and its reply threads
WORKER_POOL_SIZE = 8  # `research scrape`: sub-jobs under way at a time, over all lines
TRANSCRIPTS_PRIORITY_BOOST = 2.0  # how much sooner a free worker turns to transcripts; 1 = no sooner
CONCURRENT_REQUESTS_PER_ARTIFACT = 24  # of one kind (comments, transcripts …) over all sites
DOMAIN_RATE = 5.0  # requests a second to one domain once its burst is used up; 0 = no such limit
DOMAIN_CONCURRENCY: dict[str, int] = {}  # in flight to single domains: bilibili.com=4 (else 2: see docs)
DOMAIN_RATES: dict[str, float] = {}  # requests a second to single domains: bilibili.com=2 (else 1)
DOMAIN_BURST = 3000  # requests that may go out as fast as the caps allow before DOMAIN_RATE holds
RETRY_BACKOFF_BASE = 1.5  # seconds before retry n: base ** n, plus up to half of it by chance
RETRY_BACKOFF_CAP_S = 60.0
BREAKER_COOLDOWN_S = 2.0  # how long a line pauses after a refusal without Retry-After; grows by 1.6; or never
BREAKER_THRESHOLD = 8  # passing faults in a row that open a line's breaker
BREAKER_SHARE = 0.5  # or this share of faults among the last results
BREAKER_SAMPLE = 40  # how many results that is
BREAKER_PATIENCE = 8  # refusals in a row, nothing served between, after which the run stops (all is kept)
TRANSLATION_RATE = 0.5  # machine translations a second: the site throttles them hardest; 0 = no such limit
TRANSCRIPT_AGE_DAYS = 30.0  # with refresh=stale: transcripts older than this are read again
STEAL_POLICY = "least"  # from which line a worker without work at home takes: least, most, turn, none
MAX_BROWSERS = 0  # browsers in use; this version has no browser route
MAX_PAGES_PER_BROWSER = 0  # pages of one browser; likewise
RAW_CAPTURE = False  # keep the body that each page was read from, for `research reparse`
LEASE_S = 120.0  # how long a sub-job stays ours without a sign of life

# -- politeness ---------------------------------------------------------------------------------------------------
ROBOTSTXT_OBEY = True  # [False] the person decides, not we
ROBOTSTXT_USER_AGENT = "research-scrapers"  # [None] the name under which robots.txt may address us
# A browser's name, because the sites serve other pages to unknown clients; ours is added so that they can tell.
USER_AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 "
    "research-scrapers/0.1"
)
CONCURRENT_REQUESTS = 64  # [16] in flight in all; our gate counts it over all spiders of the process
CONCURRENT_REQUESTS_PER_DOMAIN = 16  # [8] likewise, per domain
DOWNLOAD_DELAY = 0  # [0] the caps, the bucket and AutoThrottle hold us back
AUTOTHROTTLE_ENABLED = True  # [False]
AUTOTHROTTLE_START_DELAY = 0.0  # [5.0] it starts at what the caps allow, and slows down as the site does
AUTOTHROTTLE_TARGET_CONCURRENCY = 64.0  # [1.0] four times the cap, so that it only acts when latency rises
AUTOTHROTTLE_MAX_DELAY = 60.0  # [60.0]
RETRY_TIMES = 3  # [2] retries of a passing fault; our own middleware reads it
HTTPCACHE_ENABLED = False  # [False] the person decides
DOWNLOAD_TIMEOUT = 30  # [180] a page takes a second; half a minute of silence is a fault
REDIRECT_ENABLED = False  # [True] a redirect here is a consent page or a block: the provider reads it
METAREFRESH_ENABLED = False  # [True] likewise; looking for one decodes every page
COOKIES_ENABLED = False  # [True] no session is carried from video to video
DOWNLOAD_MAXSIZE = 64 * 1024 * 1024  # [1 GB] the largest page on record is 4 MB
DOWNLOAD_WARNSIZE = 0  # [32 MB]

# -- safety -------------------------------------------------------------------------------------------------------
DOWNLOAD_VERIFY_CERTIFICATES = True  # [False] SSL_CERT_FILE is honoured
REMOTE_CONTROL_ENABLED = False  # [True] it runs posted Python
TELNETCONSOLE_ENABLED = False  # [True]
DOWNLOAD_HANDLERS = {  # only provider hosts are ever reached
    "https": "research_scrapers.crawling.handler.ProviderHandler",
    "http": "research_scrapers.crawling.handler.ProviderHandler",
    "data": None,
    "file": None,
    "ftp": None,
    "s3": None,
}

# -- the ledger is the truth --------------------------------------------------------------------------------------
SCHEDULER = "research_scrapers.crawling.scheduler.MemoryScheduler"  # JOBDIR names the run, it does not hold the queue
DUPEFILTER_CLASS = "scrapy.dupefilters.BaseDupeFilter"  # [RFPDupeFilter] a retried page is not a duplicate
CONCURRENT_ITEMS = 1  # [100] a page is one item; at 100 Scrapy starts 100 tasks for every response

ITEM_PIPELINES = {  # an item's life, top to bottom
    "research_scrapers.crawling.pipelines.ValidatePipeline": 100,
    "research_scrapers.crawling.privacy.PrivacyPipeline": 500,
    "research_scrapers.crawling.pipelines.StorePipeline": 900,
}
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,  # asked once, before the run begins
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,  # the handler refuses foreign hosts, always
    "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware": None,
    "research_scrapers.crawling.retry.RetryMiddleware": 550,
    "research_scrapers.crawling.cache.CacheMiddleware": 560,  # HTTPCACHE_ENABLED; above decompression and the gate
    "research_scrapers.crawling.politeness.GateMiddleware": 990,  # last: what passes it goes out
}
HTTPCACHE_POLICY = "research_scrapers.crawling.cache.CachePolicy"  # [DummyPolicy] what the site allows, no more
HTTPCACHE_STORAGE = "research_scrapers.crawling.cache.CacheStorage"  # [Filesystem…] nothing private, nothing half
SPIDER_MIDDLEWARES = {  # the ledger, the provider and the handler do this already, and each costs every page a detour
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # it drops signed addresses without a word
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
}
EXTENSIONS = {
    "scrapy.extensions.throttle.AutoThrottle": None,
    "scrapy.extensions.logstats.LogStats": None,
    "scrapy.extensions.spiderstate.SpiderState": None,  # nothing but the ledger is remembered
    "scrapy.extensions.telnet.TelnetConsole": None,  # switched off above; this spares its import too
    "scrapy.extensions.remote_control.RemoteControl": None,  # likewise
    "research_scrapers.crawling.politeness.SteadyThrottle": 0,
    "research_scrapers.crawling.memory.SteadyMemory": 0,
    "research_scrapers.crawling.progress.Progress": 100,
}
FEED_STORAGES = {
    "": "research_scrapers.crawling.feeds.FileStorage",
    "file": "research_scrapers.crawling.feeds.FileStorage",
}
FEED_EXPORTERS = {  # one record a line, each once, also after a crash
    "jsonl": "research_scrapers.crawling.feeds.JsonLinesFeed",
    "jsonlines": "research_scrapers.crawling.feeds.JsonLinesFeed",
    "jl": "research_scrapers.crawling.feeds.JsonLinesFeed",
    "csv": "research_scrapers.crawling.feeds.CsvFeed",
    "json": None,
    "xml": None,
    "marshal": None,
    "pickle": None,
}
FEED_EXPORT_ENCODING = "utf-8"

LOG_LEVEL = "INFO"  # [DEBUG]
LOG_FORMAT = "%(asctime)s %(levelname)s: %(message)s"
LOG_VERSIONS: list[str] = []
STATS_DUMP = False  # [True] the summary at the end says it in words

# -- what a person decided ----------------------------------------------------------------------------------------
globals().update(knobs.load(os.environ, Path.cwd()))
