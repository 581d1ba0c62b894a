"""Prints each change of an absence, from the topic `absence-changes`.

    python consumer.py
"""

import os

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

TOPIC = os.environ.get("ROLLCALL_TOPICS", "rollcall.north") + ".absence-changes"
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
found = consumer.list_topics(TOPIC, 10).topics[TOPIC]
if found.error is not None:
    raise SystemExit(str(found.error))
parts = [TopicPartition(TOPIC, number) for number in found.partitions]
# At its first start the group has no positions. What the topic already has is not news, so the group begins at its end.
if all(part.offset < 0 for part in consumer.committed(parts, 10)):
    ends = [TopicPartition(TOPIC, part.partition, consumer.get_watermark_offsets(part)[1]) for part in parts]
    consumer.commit(offsets=ends, asynchronous=False)
consumer.subscribe([TOPIC])
try:
    while True:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is not None:
            raise SystemExit(str(message.error()))
        change = decode(message.value(), SerializationContext(TOPIC, MessageField.VALUE))
        # None: the absence is forgotten. A snapshot was there when Rollcall first looked. Neither is news.
        if change is not None and not change["snapshot"]:
            version = change["version"]
            print(change["operation"], message.key().decode(), version["fromTime"], "–", version["toTime"], flush=True)
        # Only now, so that a crash before this line brings the record again.
        consumer.commit(message, asynchronous=False)
except KeyboardInterrupt:
    pass
finally:
    consumer.close()
