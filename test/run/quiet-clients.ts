import { letIdleConnectionsSleep } from '../../src/log/kafkajs-idle.ts';

// Tests that use kafkajs without the product's own client would have Node warn of timers that run backwards.
letIdleConnectionsSleep();
