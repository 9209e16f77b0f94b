/** The hosts of a gateway: that of the platform, and with `gateway.appDomain` one for each app. Pure. */
import { isAppId } from '../../apps/names.ts'
import { type Addresses, appOrigin } from '../../base/app-address.ts'
import { remembered } from '../../base/remembered.ts'
import { isOurHost, type Site, siteOf } from './site.ts'

/** The host that a request names. */
export interface Place {
  readonly site: Site
  /** The app whose host it is; absent: it is the platform's. */
  readonly appId?: string | undefined
}

export interface Hosts {
  /** The host of the platform. It has the gateway's own pages, and the cookie of the login. */
  readonly platform: Site
  /** Whether each app has a host of its own. */
  readonly areSplit: boolean
  /** @param host a `Host` of the strict form. @returns undefined for one that is not ours */
  of(host: string): Place | undefined
  /** Where an app is. */
  ofApp(id: string): Site
}

/** @param addresses `gateway.publicUrl` and `gateway.appDomain`, as the configuration has checked them */
export function hostsOf(addresses: Addresses): Hosts {
  const platform = { site: siteOf(addresses.publicUrl!) }
  const ofPlatform = (host: string) => (isOurHost(host, platform.site) ? platform : undefined)
  const { appDomain } = addresses
  if (appDomain === undefined) {
    return { platform: platform.site, areSplit: false, of: ofPlatform, ofApp: () => platform.site }
  }
  const ofApp = remembered((id): Required<Place> => ({ site: siteOfApp(id, addresses), appId: id }))
  const of = (host: string) => {
    // No id has a dot, so an app's host has one label before the domain.
    const label = host.slice(0, Math.max(0, host.indexOf('.'))).toLowerCase()
    const place = isAppId(label) ? ofApp(label) : undefined
    return place && isOurHost(host, place.site) ? place : ofPlatform(host)
  }
  return { platform: platform.site, areSplit: true, of, ofApp: id => ofApp(id).site }
}

/** Not read by `new URL`, which takes no host with a false `xn--`. Browsers take none either. */
function siteOfApp(id: string, addresses: Addresses): Site {
  const origin = appOrigin(id, addresses)
  return { origin, host: origin.slice(origin.indexOf('//') + 2), proto: origin.startsWith('https:') ? 'https' : 'http' }
}

/** Answers at a host, by what it is and what a request asks there. */
export type Way =
  /** It is answered here. */
  | 'here'
  /** The app is at its own host. */
  | 'app'
  /** The app of this path is not that of the host. */
  | 'misdirected'
  /** Nothing is there. */
  | 'unknown'

interface Aim {
  readonly kind: 'app' | 'own'
  readonly route?: string
  readonly id?: string
}

/**
 * Decides about a target at a host, where each app has one. Pages that know the login are at the host of the platform alone, so
 * that no script of an app is beside them.
 */
export function wayOf({ kind, route, id }: Aim, { appId }: Place): Way {
  const isArrival = kind === 'own' && route === 'entered'
  if (appId === undefined) return kind === 'app' ? 'app' : isArrival ? 'unknown' : 'here'
  if (kind === 'app') return id === appId ? 'here' : 'misdirected'
  return isArrival ? 'here' : 'unknown'
}
