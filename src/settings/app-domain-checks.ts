/** Checks of the domain below which each app has a host, alike for a gateway and a controller of apps. */
import type { Addresses } from '../base/app-address.ts'

type Block = 'apps' | 'gateway'

/** @returns one line for each violated condition */
export function appDomainProblems(block: Block, { publicUrl, appDomain }: Addresses): string[] {
  if (appDomain === undefined) return []
  const key = `${block}.appDomain`
  if (publicUrl === undefined) return [`${key}: needs ${block}.publicUrl`]
  const { hostname, protocol } = new URL(publicUrl)
  // `new URL` reads a name that ends with a number as an address.
  if (!URL.canParse(`https://a.${appDomain}`)) return [`${key}: no app can have a host below it`]
  return [
    // An app of this name would have the cookies of the platform.
    ...(isWithin(hostname, appDomain)
      ? [`${key}: ${block}.publicUrl is at this domain or below it, so an app could have its host`]
      : []),
    ...(protocol === 'http:' && !isWithin(appDomain, 'localhost')
      ? [`${key}: is not below localhost, and ${block}.publicUrl is http://: browsers keep no cookie there`]
      : []),
  ]
}

/** @returns warnings: permitted settings that an operator should know about */
export function appDomainWarnings(block: Block, { publicUrl, appDomain }: Addresses): string[] {
  if (publicUrl === undefined || appDomain === undefined) return []
  const { hostname } = new URL(publicUrl)
  const shared = sharedParent(hostname, appDomain)
  return shared === undefined
    ? []
    : [
        `${block}.appDomain: is below ${shared}, as is ${block}.publicUrl: scripts of apps can set cookies of ${shared}, which browsers send to the platform too. Take a domain that is registered for apps alone`,
      ]
}

const isWithin = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`)

/** The longest domain of two labels or more that both are below, or are. */
function sharedParent(host: string, other: string): string | undefined {
  const labels = other.split('.')
  const parents = labels.map((_, index) => labels.slice(index).join('.')).slice(0, -1)
  return parents.find(parent => isWithin(host, parent))
}
