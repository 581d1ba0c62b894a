import { patchKafkaJs } from '../../src/log/wire/kafkajs-patches.ts';

// As the product does, before the first connection: files that read topics with kafkajs alone may come first in a process.
patchKafkaJs();
