/** The user of gateways on a Redis of the tests, with exactly the rights of `gatewayAclLine`. */
import type { Redis as Client } from 'ioredis'
import { systemClock } from '../../../src/base/clock.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { Connection, type ConnectionOptions } from '../../../src/store/connection.ts'
import { gatewayAclLine } from '../../../src/store/rights.ts'
import { opened } from '../store/opened.ts'
import type { Store } from '../store/store.ts'

/** Its name and password. */
const name = 'gateway'

/** @returns the address by which this user reaches Redis */
export async function addGatewayUser({ redis, server, prefix }: Store): Promise<string> {
  await addUser(redis, prefix)
  const url = new URL(server.programUrl)
  url.username = name
  url.password = name
  return url.href
}

const addUser = (redis: Client, keyPrefix: string) =>
  redis.call(
    'ACL',
    'SETUSER',
    ...gatewayAclLine({ name, password: `>${name}`, keyPrefix })
      .split(' ')
      .slice(1),
  )

/** A connection as gateways have it; resolves once both of its links are ready. */
export async function openAsGateway(
  url: string,
  keyPrefix: string,
  more: Partial<ConnectionOptions> = {},
): Promise<Connection> {
  const config = configSchema.shape.redis.parse({ url, keyPrefix })
  const connection = new Connection({ config, clock: systemClock, withoutEval: true, ...more })
  await opened(connection)
  return connection
}
