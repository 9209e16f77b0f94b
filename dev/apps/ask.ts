/** A request to the platform without a browser, and so without a login. */
import { get } from 'node:https'
import type { AppsSite } from './site.ts'

/** @returns the status. The name of the platform needs no DNS here */
export function ask({ url, authority }: Pick<AppsSite, 'url' | 'authority'>, path: string): Promise<number> {
  const { host, hostname, port } = new URL(url)
  const options = { host: '127.0.0.1', port, servername: hostname, ca: authority.pem, headers: { host }, agent: false }
  return new Promise((resolve, reject) => {
    const outgoing = get({ ...options, path }, answer => {
      answer.destroy()
      resolve(answer.statusCode ?? 0)
    })
    outgoing.once('error', reject)
  })
}
