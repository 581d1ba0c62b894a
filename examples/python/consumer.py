"""Prints each change of an absence, from the topic `absence-changes`.

    python consumer.py
"""

import os

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = "rollcall.north.absence-changes"
registry = SchemaRegistryClient({"url": os.environ.get("ROLLCALL_REGISTRY_URL", "http://localhost:8081")})
decode = AvroDeserializer(registry)
consumer = Consumer({
    "bootstrap.servers": os.environ.get("ROLLCALL_KAFKA_BROKERS", "localhost:9092"),
    "group.id": "example-python",
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "allow.auto.create.topics": False,
})
consumer.subscribe([TOPIC])
try:
    while True:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is not None:
            raise SystemExit(str(message.error()))
        change = decode(message.value(), SerializationContext(TOPIC, MessageField.VALUE))
        # None: the absence is forgotten. A snapshot was there when Rollcall first looked. Neither is news. A program that acts
        # on changes also leaves out those whose detectedAt is before its own first start, as react_once.py does.
        if change is not None and not change["snapshot"]:
            version = change["version"]
            print(change["operation"], message.key().decode(), version["fromTime"], "–", version["toTime"], flush=True)
        # Only now, so that a crash before this line brings the record again.
        consumer.commit(message, asynchronous=False)
except KeyboardInterrupt:
    pass
finally:
    consumer.close()
