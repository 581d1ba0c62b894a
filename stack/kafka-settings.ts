export type KafkaSettings = Readonly<Record<string, string | number | boolean>>;

/** An address at which a broker listens. */
export interface Listener {
  readonly name: string;
  readonly port: number;
  /** Where clients are to connect; the port itself if left out. */
  readonly advertisedPort?: number | undefined;
  readonly protocol: 'PLAINTEXT' | 'SSL' | 'SASL_SSL';
}

/** One broker of a cluster; it is one of the controllers, too. */
export interface BrokerPlan {
  /** From 1 on. */
  readonly id: number;
  readonly controllerPort: number;
  /** The first is PLAINTEXT, and for the other brokers, too. */
  readonly listeners: readonly [Listener, ...Listener[]];
  readonly dataFolder: string;
}

const MOST_REPLICAS = 3;

/**
 * The settings of one broker of a cluster for development, all on 127.0.0.1; all others are Kafka's defaults. As in
 * production, three brokers keep three replicas, two of which must have a record before it is acknowledged.
 */
export function brokerSettings(broker: BrokerPlan, cluster: readonly BrokerPlan[]): KafkaSettings {
  const { id, controllerPort, listeners, dataFolder } = broker;
  const replicas = Math.min(cluster.length, MOST_REPLICAS);
  const minInSync = Math.min(replicas, 2);
  const voters = cluster.map((each) => `${each.id}@127.0.0.1:${each.controllerPort}`);
  const at = listeners.map(({ name, port }) => `${name}://127.0.0.1:${port}`);
  const advertised = listeners.map(
    ({ name, port, advertisedPort = port }) => `${name}://127.0.0.1:${advertisedPort}`,
  );
  const protocols = listeners.map(({ name, protocol }) => `${name}:${protocol}`);
  return {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': voters.join(','),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': listeners[0].name,
    listeners: [...at, `CONTROLLER://127.0.0.1:${controllerPort}`].join(','),
    'advertised.listeners': advertised.join(','),
    'listener.security.protocol.map': [...protocols, 'CONTROLLER:PLAINTEXT'].join(','),
    'log.dirs': dataFolder,
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    'default.replication.factor': replicas,
    'min.insync.replicas': minInSync,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': minInSync,
    'transaction.state.log.num.partitions': 4,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': minInSync,
    'share.coordinator.state.topic.num.partitions': 1,
    // a killed broker can register again only after its session expires: by default 9 s
    'broker.session.timeout.ms': 4000,
    'broker.heartbeat.interval.ms': 1000,
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
  };
}

/** The text of `server.properties`. */
export function propertiesText(settings: KafkaSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
