/** Whether a host, with or without port, is this machine. A name that only looks like an address of it is not. */
export function isLoopback(host: string): boolean {
  const { hostname } = new URL(`http://${host}`)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** Whether a token may be sent to an address: one of https, or of this machine, without a user, a query or a fragment. */
export function mayGetTokens(address: string): boolean {
  if (!URL.canParse(address) || /[?#]/.test(address)) return false
  const { protocol, hostname, username, password } = new URL(address)
  return username === '' && password === '' && (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)))
}
