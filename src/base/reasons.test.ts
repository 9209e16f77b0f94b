import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { inFull, isKnown, reasonOf } from './reasons.ts'

const failure = (code: string, more: object = {}) =>
  Object.assign(new Error(`library words of ${code}`), { code, ...more })
const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })

describe('reasonOf', () => {
  it.each([
    ['ECONNREFUSED', 'nothing listens on this port'],
    ['ENOTFOUND', 'the host name is unknown'],
    ['EAI_AGAIN', 'the host name cannot be looked up: the name service does not answer'],
    ['ETIMEDOUT', /^there is no answer in time: .* network policy/],
    ['UND_ERR_CONNECT_TIMEOUT', /^there is no answer in time: .* network policy/],
    ['EHOSTUNREACH', 'there is no route to the address'],
    ['ECONNRESET', 'the server closes the connection'],
    ['CERT_HAS_EXPIRED', 'its certificate has expired'],
    ['CERT_NOT_YET_VALID', 'its certificate is not valid yet'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate is not from a trusted authority'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'its certificate is not from a trusted authority'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is not from a trusted authority'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'its certificate is not from a trusted authority'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another host name'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'the server does not speak TLS'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'the server demands a client certificate'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'the TLS handshake fails'],
    ['HPE_INVALID_CONSTANT', 'the answer is not HTTP: the server may expect TLS'],
    ['UND_ERR_HEADERS_OVERFLOW', 'the headers of the answer are too large'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the answer has another length than it says'],
  ])('knows the code %s', (code, words) => {
    expect(reasonOf(failure(code)).words).toMatch(words)
    expect(reasonOf(failure(code)).words).not.toContain('library words')
  })

  it.each([
    ['WRONGPASS invalid username-password pair or user is disabled.', 'wrong user name or password'],
    ['NOAUTH Authentication required.', 'a password is required, and none is configured'],
    ["NOPERM User program has no permissions to run the 'xadd' command", 'its user lacks a right'],
    ['LOADING Redis is loading the dataset in memory', 'it is loading its data'],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", /has lost its master/],
    ['ERR max number of clients reached', 'it has too many clients'],
  ])('knows the reply %s, and shows it to operators', (message, words) => {
    const reason = reasonOf(reply(message))
    expect(reason.words).toMatch(words)
    expect(reason.detail).toBe(message.replace(/\.$/, ''))
  })

  it.each([
    ["Stream isn't writeable and enableOfflineQueue options is false", 'there is no connection'],
    ['Connection is closed.', 'there is no connection'],
    ['Command timed out', 'there is no answer in time'],
    ['Socket timeout: nothing was received for 3000 ms', 'there is no answer in time'],
    ['no answer within 5000 ms', /network policy/],
    ['Response does not match the HTTP/1.1 protocol (Invalid character)', /^the answer is not HTTP/],
    ['bad response', /^the answer is not HTTP/],
    ['bad upgrade', /^the answer is not HTTP/],
    [
      'write EPROTO 4067:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:',
      'the server does not speak TLS',
    ],
    ['Client network socket disconnected before secure TLS connection was established', /it may not speak TLS/],
    ['Client sent an HTTP request to an HTTPS server.', 'the server expects TLS'],
    ['The plain HTTP request was sent to HTTPS port', 'the server expects TLS'],
  ])('knows the message of a library: %s', (message, words) => {
    expect(reasonOf(new Error(message)).words).toMatch(words)
  })

  it('searches causes, and attempts at several addresses', () => {
    const attempts = ['::1', '127.0.0.1'].map(address => failure('ECONNREFUSED', { address, port: 6379 }))
    const error = new TypeError('fetch failed', { cause: new AggregateError(attempts) })
    expect(inFull(reasonOf(error))).toBe('nothing listens on this port (ECONNREFUSED ::1:6379)')
  })

  it('ends when an error is its own cause', () => {
    const error = new Error('round')
    error.cause = error
    expect(isKnown(reasonOf(error))).toBe(false)
  })

  it('adds that a server may expect TLS when TLS was not used', () => {
    expect(reasonOf(failure('ECONNRESET'), { clear: true }).words).toBe(
      'the server closes the connection: it may expect TLS',
    )
  })

  it('adds that a silent server may not speak TLS when a handshake is awaited', () => {
    expect(reasonOf(failure('ETIMEDOUT'), { handshake: true }).words).toMatch(/, or it does not speak TLS$/)
  })

  it('adds the names of a certificate, and the setting that names an authority', () => {
    const names = failure('ERR_TLS_CERT_ALTNAME_INVALID', {
      host: 'redis.example.org',
      cert: { subjectaltname: 'DNS:other.example.org' },
    })
    expect(reasonOf(names).detail).toBe('ERR_TLS_CERT_ALTNAME_INVALID redis.example.org; it has DNS:other.example.org')
    const { detail } = reasonOf(failure('SELF_SIGNED_CERT_IN_CHAIN'), { trustBy: 'images.caFile' })
    expect(detail).toBe('SELF_SIGNED_CERT_IN_CHAIN; name the authority in images.caFile')
  })

  it('returns words for any thrown value', () => {
    for (const thrown of [undefined, null, 'text', 7, {}, Object.create(null), new Error()]) {
      expect(reasonOf(thrown).words).toBe('it cannot be used')
    }
  })

  it('hides passwords and joins lines, whatever a server says', () => {
    const password = fc
      .string({ minLength: 4, maxLength: 30 })
      .filter(text => text.trim() !== '' && !'*'.repeat(40).includes(text))
    const text = fc.string({ maxLength: 100 })
    fc.assert(
      fc.property(
        password,
        text,
        text,
        fc.constantFrom('ERR', 'WRONGPASS', 'NOPERM'),
        (secret, before, after, code) => {
          const address = `redis://user:${encodeURIComponent(secret)}@host:6379`
          for (const said of [`${before}${secret}${after}`, `${before} ${address} ${after}`]) {
            const errors = (words: string) => [
              reply(`${code} ${words}`),
              new Error(words),
              failure('X', { host: words }),
            ]
            // A password may be a word of our own texts.
            fc.pre(!errors('').some(error => inFull(reasonOf(error)).includes(secret)))
            for (const error of errors(said)) {
              const shown = inFull(reasonOf(error, { secrets: [secret] }))
              expect(shown).not.toContain(secret)
              expect(shown).not.toMatch(/[\n\r\0]/)
              expect(shown.length).toBeLessThan(400)
            }
          }
        },
      ),
    )
  })
})

it('reasonOf knows the error of a real handshake with a server without TLS', async () => {
  const server: Server = createServer(socket => socket.end('-ERR unknown command\r\n'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connectTls({ port: (server.address() as { port: number }).port, host: '127.0.0.1' })
  const [error] = await once(socket, 'error').catch(thrown => [thrown])
  expect(reasonOf(error).words).toBe('the server does not speak TLS')
})
