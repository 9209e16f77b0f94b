/** Descriptions of the routes into running containers, for the document. */

export const shellWords = `A request with \`Upgrade: ssh\` and \`Connection: Upgrade\` gets 101, and then speaks SSH with the container's own server, which asks for no password.
\`skylab shell <uuid>\` does so with the system's \`ssh\`. Administrators may open one where \`dispatch.Containers.ShellAccess.Admin\` is
true, owners where \`…User\` is. It is looked at again each minute, and ends with the container.`

export const portWords = `Carries the request to a port of the container: HTTP as it comes, and WebSocket. The program there listens on \`localhost\`, or on all
addresses where the engine gives containers a network of their own.

- The container gets neither \`Authorization\` nor cookies, and no header that proxies set but \`X-Forwarded-Prefix\`.
- Its answer sets no cookies, and a browser runs nothing of it. No cache of others may keep it.
- An answer of Skylab itself has the common form of errors. All others are the program's.
- The right to it is as for a shell.`
