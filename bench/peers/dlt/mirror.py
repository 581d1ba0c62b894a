"""dlt: its REST client reads keyset pages; a destination of one's own compares hashes with one MGET a batch, encodes Avro,
publishes, and writes the hashes after Kafka has acknowledged the batch."""

import hashlib
import io
import json
import os
import struct

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["RUNTIME__LOG_LEVEL"] = "WARNING"
os.environ["DATA_WRITER__BUFFER_MAX_ITEMS"] = "20000"
os.environ["EXTRACT__WORKERS"] = "1"
os.environ["NORMALIZE__DATA_WRITER__FILE_MAX_ITEMS"] = "20000"
os.environ["LOAD__WORKERS"] = "2"

import dlt
import fastavro
import orjson
import redis
import requests
from confluent_kafka import Producer
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.auth import OAuth2ClientCredentials
from dlt.sources.helpers.rest_client.paginators import HeaderLinkPaginator

TOPIC = os.environ["TOPIC"]
KEY_PREFIX = os.environ["KEY_PREFIX"]
TIMES = ("fromTime", "toTime", "deletedTime", "dateLastModified")

state = redis.Redis.from_url(os.environ["REDIS_URL"])
registered = requests.get(
    f"{os.environ['REGISTRY_URL']}/subjects/{os.environ['SUBJECT']}/versions/latest"
).json()
schema = fastavro.parse_schema(json.loads(registered["schema"]))
frame = b"\0" + struct.pack(">I", registered["id"])
producer = Producer(
    {
        "bootstrap.servers": os.environ["KAFKA_BROKERS"],
        "enable.idempotence": True,
        "acks": "all",
        "compression.type": "lz4",
        "linger.ms": 20,
        "queue.buffering.max.messages": 200000,
    }
)


@dlt.resource(name="absences", max_table_nesting=0, primary_key="sourcedId")
def absences():
    client = RESTClient(
        base_url=os.environ["HUB_URL"],
        auth=OAuth2ClientCredentials(
            access_token_url=os.environ["HUB_TOKEN_URL"],
            client_id=os.environ["HUB_CLIENT_ID"],
            client_secret=os.environ["HUB_CLIENT_SECRET"],
        ),
        paginator=HeaderLinkPaginator(),
        data_selector="absences",
    )
    for page in client.paginate("", params={"limit": 1000}):
        yield page


def hash_of(row):
    content = {field: value for field, value in row.items() if field != "dateLastModified"}
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS, default=str)
    return hashlib.blake2b(text, digest_size=8).hexdigest().encode()


@dlt.destination(
    batch_size=1000,
    loader_file_format="typed-jsonl",
    name="kafka",
    naming_convention="direct",
    skip_dlt_columns_and_tables=True,
)
def kafka(rows, table):
    keys = [f"{KEY_PREFIX}:{row['sourcedId']}" for row in rows]
    changed = {}
    for row, key, seen in zip(rows, keys, state.mget(keys)):
        digest = hash_of(row)
        if seen == digest:
            continue
        for field in TIMES:
            if row.get(field) is not None and not isinstance(row[field], str):
                row[field] = row[field].isoformat()
        value = io.BytesIO()
        value.write(frame)
        fastavro.schemaless_writer(value, schema, row)
        producer.produce(TOPIC, value.getvalue(), row["sourcedId"].encode())
        changed[key] = digest
    producer.poll(0)
    if changed:
        producer.flush()
        state.mset(changed)


dlt.pipeline("peer", destination=kafka, pipelines_dir=os.environ["WORK_FOLDER"]).run(absences())
