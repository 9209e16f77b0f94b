/** Servers that are not what they seem: real ones with TLS, and ones that send whatever they like. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type OwnPostgres, ownPostgres, startLimitMs } from '../../../test/kit/billing/postgres.ts'
import { TestAuthority } from '../../../test/kit/tls/authority.ts'
import type { PostgresPlace } from '../places.ts'
import { Session } from './session.ts'

let own: OwnPostgres
let authority: TestAuthority
let other: TestAuthority
beforeAll(async () => {
  own = await ownPostgres(folder => {
    mkdirSync(join(folder, 'tls'))
    authority = new TestAuthority(join(folder, 'tls'))
    other = new TestAuthority(join(folder, 'tls'), 'other')
    return authority.issue('server', { alternatives: ['DNS:localhost'] })
  })
}, startLimitMs)
const servers: Server[] = []
afterAll(async () => {
  for (const server of servers) server.close()
  await own.stop()
})

const placeOf = (more: Partial<PostgresPlace> = {}): PostgresPlace => {
  const { port, database, user } = own.postgres
  return { host: 'localhost', port, database, user, password: user, tls: true, authorities: authority.ca, ...more }
}

const openError = (
  place: PostgresPlace,
  timeoutMs = 5_000,
): Promise<{ reason: string; detail: string; message: string }> =>
  Session.open(place, timeoutMs).then(
    session => {
      session.close()
      throw new Error('it was opened')
    },
    error => error,
  )

describe('TLS', () => {
  test('is spoken where the certificate is of the authority and of the host', async () => {
    const session = await Session.open(placeOf(), 5_000)
    const rows = await session.query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()', [])
    expect(rows).toEqual([{ ssl: true }])
    session.close()
  })

  test.each([
    ['the certificate is of another authority', () => placeOf({ authorities: other.ca }), 'trusted authority'],
    ['no authority is named', () => placeOf({ authorities: undefined }), 'trusted authority'],
    // The certificate is for the name localhost.
    ['the certificate is of another host', () => placeOf({ host: '127.0.0.1' }), 'another host name'],
  ])('is refused when %s', async (_, place, words) => {
    const error = await openError(place())
    expect(error).toMatchObject({ reason: 'Unreachable', detail: expect.stringContaining(words) })
  })
})

/** A server that does this with each connection. */
async function hostile(serve: (socket: Socket) => void): Promise<Partial<PostgresPlace>> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    serve(socket)
  })
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port, tls: false }
}

const message = (type: string, body: Buffer, length = body.length + 4): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, body])
}
/** Authentication is done, and a query may come. */
const welcome = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))])

/** Sends without end. */
function flood(socket: Socket, chunk: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on('drain', more)
  more()
}

describe('a hostile server', () => {
  test('that answers nothing is given up in time', async () => {
    expect(await openError(placeOf(await hostile(() => {})), 300)).toMatchObject({ reason: 'TimedOut' })
  })

  test('without TLS gets neither a password nor a statement', async () => {
    const got: Buffer[] = []
    const place = await hostile(socket => {
      socket.on('data', data => {
        got.push(data)
        socket.write('N')
      })
    })
    expect(await openError(placeOf({ ...place, tls: true }), 1_000)).toMatchObject({ reason: 'Unreachable' })
    expect(Buffer.concat(got)).toHaveLength(8)
  })

  test('that sends without end is cut off, before and after its welcome', async () => {
    const early = await hostile(socket => flood(socket, message('S', Buffer.alloc(64 * 1024))))
    expect(await openError(placeOf(early))).toMatchObject({
      reason: 'Refused',
      detail: expect.stringContaining('bytes'),
    })
    const late = await hostile(socket => {
      socket.once('data', () => {
        socket.write(welcome)
        socket.once('data', () => flood(socket, message('S', Buffer.alloc(64 * 1024))))
      })
    })
    const session = await Session.open(placeOf(late), 5_000)
    await expect(session.query('SELECT 1', [])).rejects.toMatchObject({ detail: expect.stringContaining('bytes') })
    session.close()
  })

  test('with one message of four gigabytes is cut off', async () => {
    const place = await hostile(socket => {
      socket.write(message('S', Buffer.alloc(0), 0xffff_fff0))
      flood(socket, Buffer.alloc(64 * 1024))
    })
    expect(await openError(placeOf(place))).toMatchObject({ reason: 'Refused' })
  })

  test('that quotes the password in an error shows it to nobody', async () => {
    const password = 'open-sesame-42'
    const fields = Buffer.from(`SFATAL\0VFATAL\0C28P01\0Mthe password ${password} is wrong\n\u001b[31m\0\0`)
    const place = await hostile(socket => socket.once('data', () => socket.end(message('E', fields))))
    const error = await openError(placeOf({ ...place, password }))
    expect(error).toMatchObject({ reason: 'AccessDenied', message: 'the database of bills refuses the account' })
    expect(error.detail).toBe('28P01 the password *** is wrong [31m')
  })

  test('that ends in the middle of a statement is reported as unreachable', async () => {
    const place = await hostile(socket => {
      socket.once('data', () => {
        socket.write(welcome)
        socket.once('data', () => socket.destroy())
      })
    })
    const session = await Session.open(placeOf(place), 5_000)
    await expect(session.query('SELECT 1', [])).rejects.toMatchObject({ reason: 'Unreachable' })
    session.close()
  })
})

test('a new password in the file counts from the next connection on', async () => {
  const passwordFile = join(own.folder, 'secret')
  writeFileSync(passwordFile, 'wrong\n')
  const place = placeOf({ password: undefined, passwordFile })
  expect(await openError(place)).toMatchObject({ reason: 'AccessDenied' })
  writeFileSync(passwordFile, `${own.postgres.user}\n`)
  const session = await Session.open(place, 5_000)
  session.close()
})

test('variables of the environment count for nothing where the configuration leaves something empty', async () => {
  const passwordFile = join(own.folder, 'empty')
  writeFileSync(passwordFile, '')
  vi.stubEnv('PGOPTIONS', '-c search_path=elsewhere')
  vi.stubEnv('PGPASSWORD', own.postgres.user)
  try {
    expect(await openError(placeOf({ password: undefined, passwordFile }))).toMatchObject({ reason: 'AccessDenied' })
    const session = await Session.open(placeOf(), 5_000)
    expect(await session.query('SHOW search_path', [])).toEqual([{ search_path: '"$user", public' }])
    session.close()
    expect(process.env.PGPASSWORD).toBe(own.postgres.user)
  } finally {
    vi.unstubAllEnvs()
  }
})
