/** The platform's public address, in the forms that the gateway compares with and writes. Pure. */

export interface Site {
  /** Such as `https://platform.example.org`, as browsers send it in `Origin`. */
  readonly origin: string
  /** As browsers send it in `Host`: in lower case, without the port of the scheme. */
  readonly host: string
  readonly proto: 'http' | 'https'
}

/** @param publicUrl `gateway.publicUrl`, as the configuration has checked it */
export function siteOf(publicUrl: string): Site {
  const { origin, host, protocol } = new URL(publicUrl)
  return { origin, host, proto: protocol === 'https:' ? 'https' : 'http' }
}

/** Whether a `Host` names the site. Capitals and the port of the scheme make no other host. */
export function isOurHost(host: string, { host: own, proto }: Site): boolean {
  const usual = proto === 'https' ? ':443' : ':80'
  const lower = host.toLowerCase()
  return lower === own || lower === own + usual
}

/** Whether an `Origin` is the site's, byte for byte: browsers have one form of it. */
export const isOurOrigin = (origin: string | undefined, site: Site): boolean => origin === site.origin
