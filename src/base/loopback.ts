/** Whether a host, with or without port, is this machine. A name that only looks like an address of it is not. */
export function isLoopback(host: string): boolean {
  const { hostname } = new URL(`http://${host}`)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** Whether a token may be sent to an address: by https, or to this machine. It has no user, query or fragment. */
export function mayGetTokens(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(address)
  const isBare = [username, password, search, hash].every(part => part === '')
  return isBare && (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)))
}
