# The image is the npm package with the dependencies of the lock file.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
# what the image adds to its base, with licences (CycloneDX)
RUN npm sbom --omit=dev --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json

FROM node:24-bookworm-slim AS package
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm pack && mkdir package && tar -xzf rollcall-*.tgz -C package --strip-components=1

# for docker-compose.yml: the verb hub, which the package does not have
FROM package AS reference-hub
USER 10001:10001
ENTRYPOINT ["node", "bin/rollcall.mjs", "hub"]

FROM node:24-bookworm-slim
# the flags and variables of bin/bounded-memory.mjs, which explains them; with them it need not start Node again
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-semi-space-size=4 --expose-gc" \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_ARENA_MAX=1 \
    ROLLCALL_CONFIG=/etc/rollcall/rollcall.yaml
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=dependencies /app/sbom.cdx.json sbom.cdx.json
COPY --from=package /app/package ./
RUN install -d -o 10001 -g 10001 node_modules/.cache && ln -s /app/bin/rollcall.mjs /usr/local/bin/rollcall
# a number, so that Kubernetes can verify that it is not root
USER 10001:10001
# compiles the modules, so that a start does not
RUN for verb in run check status; do rollcall $verb --help > /dev/null; done
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/livez').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["rollcall"]
CMD ["run"]
