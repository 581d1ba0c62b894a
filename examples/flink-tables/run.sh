#!/bin/sh
# Builds the runner of ../flink-join, which has Flink's libraries, and runs child-tables.sql until Ctrl-C. README.md names the
# variables of the environment.
set -e
cd "$(dirname "$0")"
mvn -q -f ../flink-join/pom.xml package
# UTC: Flink writes times without a zone, and PostgreSQL's driver tells the server the zone of this process.
exec java -Duser.timezone=UTC -Xmx512m -jar ../flink-join/target/flink-join.jar child-tables.sql
