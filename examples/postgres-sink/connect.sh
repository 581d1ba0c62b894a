#!/bin/sh
# Kafka Connect with all connectors of this folder, after "mvn -q package". The addresses are in the environment: see README.md.
cd "$(dirname "$0")" || exit
# UTC: the sink writes times without a zone, and PostgreSQL's driver tells the server the zone of this process. In any other zone
# every time would be hours off, without an error.
exec "${JAVA:-java}" -Duser.timezone=UTC -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dorg.slf4j.simpleLogger.showDateTime=true \
  -cp 'worker/target/lib/*' org.apache.kafka.connect.cli.ConnectStandalone worker.properties connectors/*.properties
