# The controller: Node, the C libraries that it needs, the program in a few files. No shell, no package manager.
#
#   docker build -t skylab .        BASE is pulled
#   npm run image                   nothing is pulled: BASE is made by debootstrap, the builder is buildah
#
# BASE is where it is put together: any image with npm, glibc 2.34 or newer and Debian's tools. Only its C libraries get
# into the result. The secret `npmrc`, if given, says which registry to ask, and does not.
ARG BASE=docker.io/library/node:24-bookworm-slim

FROM ${BASE} AS build
WORKDIR /build
COPY .npmrc package.json package-lock.json ./
# As the lockfile says; `npm ci` would refuse it where the registry lacks the packages of other systems.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm install --omit=dev --no-save --ignore-scripts --no-progress --loglevel=error
# The very Node that the tests run on, whatever the base has; its libraries; and a user to be.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    name="node-linux-$(node -p process.arch)@$(node -p "require('./package.json').devDependencies.node")" \
    && npm install --prefix /runtime --no-save --ignore-scripts --no-progress --loglevel=error "$name" \
    && mkdir -p /image/usr/local/bin /image/etc \
    && cp /runtime/node_modules/node-linux-*/bin/node /image/usr/local/bin/node \
    && ldd /image/usr/local/bin/node | grep -o '/[^ ]*' | xargs -I '{}' cp -L --parents '{}' /image \
    && echo 'skylab:x:65532:65532::/:/usr/sbin/nologin' > /image/etc/passwd \
    && echo 'skylab:x:65532:' > /image/etc/group \
    && echo 'hosts: files dns' > /image/etc/nsswitch.conf
# Who puts the program together stays behind.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    name="esbuild@$(node -p "require('./package.json').devDependencies.esbuild")" \
    && npm install --prefix /bundler --no-save --ignore-scripts --no-progress --loglevel=error "$name"
COPY box/bundle.ts box/
COPY src src
# What is not bundled are the files of one page.
RUN mv /bundler/node_modules/esbuild /bundler/node_modules/@esbuild node_modules/ \
    && /image/usr/local/bin/node box/bundle.ts \
    && mkdir -p /skylab/node_modules && mv dist /skylab/ \
    && mv node_modules/swagger-ui-dist /skylab/node_modules/ && rm -f /skylab/node_modules/swagger-ui-dist/*.map
# What is compiled beforehand for this user, at this place, is not compiled at each start, which takes half the time.
RUN mkdir /skylab/compiled && chown 65532:65532 /skylab/compiled \
    && NODE_COMPILE_CACHE=/skylab/compiled setpriv --reuid=65532 --regid=65532 --clear-groups \
       /image/usr/local/bin/node --input-type=module --eval "await import('/skylab/dist/main.mjs'); await import('/skylab/dist/serve.mjs')"

FROM scratch
COPY --from=build /image /
COPY --from=build /skylab /skylab
ENV NODE_ENV=production NODE_COMPILE_CACHE=/skylab/compiled
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/usr/local/bin/node", "/skylab/dist/main.mjs"]
CMD ["serve", "--config", "/etc/skylab/config/skylab.yaml"]
