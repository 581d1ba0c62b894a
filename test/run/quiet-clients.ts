import { letIdleConnectionsSleep } from '../../src/log/kafkajs-patches.ts';

// Without this, tests that use kafkajs without the product's own client make Node warn of negative timers.
letIdleConnectionsSleep();
