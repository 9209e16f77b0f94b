# The controller: Node, the C libraries that it needs, the program in a few files. No shell, no package manager.
#
#   docker build -t skylab .        BASE is pulled
#   npm run image                   nothing is pulled: BASE is made by debootstrap, the builder is buildah
#
# BASE is where it is put together: any image with npm, glibc 2.34 or newer and Debian's tools. Only its C libraries get
# into the result; all else is in this repository or in package-lock.json. Give BASE with its digest, by
# `npm run image -- --pin`. The secret `npmrc`, if given, says which registry to ask, and does not get into the result.
ARG BASE=docker.io/library/node:24-bookworm-slim

FROM ${BASE} AS build
WORKDIR /build
COPY .npmrc package.json package-lock.json ./
# Node, the bundler and what it bundles, each by the checksum that the lockfile has. No package runs a script. `npm ci`
# looks at tools for developers too, of which the lockfile has those for Linux alone, so they are not asked for. The program has package.json as it was.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    cp package.json /tmp && npm pkg delete devDependencies \
    && npm ci --ignore-scripts --no-progress --loglevel=error \
    && mv /tmp/package.json .
# The very Node that the tests run on, whatever the base has; its libraries; and a user to be.
COPY dev/image/etc /image/etc
RUN mkdir -p /image/usr/local/bin \
    && cp node_modules/node-linux-*/bin/node /image/usr/local/bin/node \
    && ldd /image/usr/local/bin/node | grep -o '/[^ ]*' | xargs -I '{}' cp -L --parents '{}' /image
COPY dev/image/bundle.ts dev/image/
COPY src src
# Beside the bundle there are the files of one page.
RUN /image/usr/local/bin/node dev/image/bundle.ts bundle.json \
    && mkdir -p /skylab/node_modules && mv dist /skylab/ \
    && cp -r node_modules/swagger-ui-dist /skylab/node_modules/ && rm -f /skylab/node_modules/swagger-ui-dist/*.map
# What is compiled beforehand for this user, at this place, is not compiled at each start, which takes half the time.
RUN mkdir /skylab/compiled && chown 65532:65532 /skylab/compiled \
    && NODE_COMPILE_CACHE=/skylab/compiled setpriv --reuid=65532 --regid=65532 --clear-groups \
       /image/usr/local/bin/node --input-type=module --eval "await import('/skylab/dist/main.mjs'); await import('/skylab/dist/serve.mjs')"
# The bill of materials names every file, and the package that each comes from.
COPY dev/image/bill.ts dev/image/sbom.ts dev/image/
RUN /image/usr/local/bin/node dev/image/sbom.ts bundle.json /image /skylab > sbom.cdx.json && mv sbom.cdx.json /skylab/

FROM scratch
COPY --from=build /image /
COPY --from=build /skylab /skylab
ENV NODE_ENV=production NODE_COMPILE_CACHE=/skylab/compiled
# As dev/image/node-options.ts has it, for less memory. Variables can be changed where the image runs.
ENV NODE_OPTIONS="--max-old-space-size=512 --max-semi-space-size=8" MALLOC_ARENA_MAX=2
ENV MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/usr/local/bin/node", "/skylab/dist/main.mjs"]
CMD ["serve", "--config", "/etc/skylab/config/skylab.yaml"]
