/** Origins of apps, for those who tell them and for those who serve them. Pure. */

/** The settings that decide, of a controller of apps or of a gateway. */
export interface Addresses {
  /** Of the platform, without a path. */
  readonly publicUrl?: string | undefined
  /** The domain below which each app has a host; absent: all apps are at the host of the platform. */
  readonly appDomain?: string | undefined
}

/** What a browser calls the origin of an app. Its host has the port of the platform's. */
export function appOrigin(id: string, { publicUrl = '', appDomain }: Addresses): string {
  const { origin, protocol, port } = new URL(publicUrl)
  return appDomain === undefined ? origin : `${protocol}//${id}.${appDomain}${port && `:${port}`}`
}
