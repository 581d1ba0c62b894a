# Node 24 runs the TypeScript sources directly, so this only installs the dependencies.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# the optional dependency is Node itself, for checkouts; this image has it
RUN npm ci --omit=dev --omit=optional --ignore-scripts
# what the image adds to its base, with licences (CycloneDX)
RUN npm sbom --omit=dev --omit=optional --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json

FROM node:24-bookworm-slim
# a young generation that may grow to its default takes 100 to 150 MB more, and no less CPU time; a fixed threshold lets
# glibc return each large buffer at once, which takes a fifth less in a first sync (docs/performance.md)
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=8 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    ROLLCALL_CONFIG=/etc/rollcall/rollcall.yaml
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=dependencies /app/sbom.cdx.json sbom.cdx.json
COPY package.json package-lock.json LICENSE ./
COPY bin bin
COPY avro avro
COPY src src
RUN install -d -o 10001 -g 10001 node_modules/.cache
# a number, so that Kubernetes can verify that it is not root
USER 10001:10001
# compiles the modules, so that a start does not
RUN for verb in run check status; do node bin/rollcall.mjs $verb --help > /dev/null; done
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/livez').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "bin/rollcall.mjs"]
CMD ["run"]
