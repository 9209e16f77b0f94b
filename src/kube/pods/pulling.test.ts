import { describe, expect, it } from 'vitest'
import { hasCause, judgePull } from './pulling.ts'

const resolve =
  'failed to pull and unpack image "r.example.org/lab:1": failed to resolve reference "r.example.org/lab:1": '

/** Messages as containerd and Docker write them. */
describe('judgePull for causes that no retry removes', () => {
  it.each([
    [`rpc error: code = NotFound desc = ${resolve}r.example.org/lab:1: not found`, 'it does not exist'],
    [`${resolve}r.example.org/lab:1: not found`, 'it does not exist'],
    ['manifest for lab:1 not found: manifest unknown: manifest unknown', 'it does not exist'],
    ['errors: name unknown: repository not known', 'it does not exist'],
    ['failed to pull and unpack image "r/lab:1": no match for platform in manifest: not found', 'kind of machine'],
    [
      `${resolve}unexpected status from HEAD request to https://r.example.org/v2/lab/manifests/1: 401 Unauthorized`,
      'denies',
    ],
    [
      `${resolve}unexpected status from HEAD request to https://r.example.org/v2/lab/manifests/1: 403 Forbidden`,
      'denies',
    ],
    [
      `${resolve}pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`,
      'denies',
    ],
    ['denied: requested access to the resource is denied', 'denies'],
    [`${resolve}failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized`, 'denies'],
    ['unauthorized: authentication required', 'denies'],
    ['failed to parse image name: invalid reference format', 'its name is not valid'],
  ])('returns doomed for %s', (cause, words) => {
    expect(judgePull('ErrImagePull', cause)).toEqual({
      kind: 'doomed',
      message: expect.stringMatching(new RegExp(`^The image cannot be pulled: .*${words}`)),
    })
  })

  it.each([
    ['InvalidImageName', 'its name is not valid'],
    ['ErrImageNeverPull', 'it is not on the node, and pulling it is not allowed'],
    ['SignatureValidationFailed', 'its signature is not valid'],
  ])('returns doomed for %s without a message', (reason, words) => {
    expect(judgePull(reason, '')).toEqual({ kind: 'doomed', message: `The image cannot be pulled: ${words}` })
  })
})

describe('judgePull for causes that may pass', () => {
  it.each([
    `${resolve}failed to do request: Head "https://r.example.org/v2/lab/manifests/1": dial tcp 192.0.2.1:443: i/o timeout`,
    `${resolve}failed to do request: Head "https://r.example.org/v2/": dial tcp: lookup r.example.org: no such host`,
    `${resolve}failed to do request: Head "https://r.example.org/v2/": dial tcp 192.0.2.1:443: connect: connection refused`,
    `${resolve}failed to do request: Head "https://r.example.org/v2/": net/http: TLS handshake timeout`,
    `${resolve}unexpected status from HEAD request to https://r.example.org/v2/lab/manifests/1: 500 Internal Server Error`,
    `${resolve}unexpected status from HEAD request to https://r.example.org/v2/lab/manifests/1: 503 Service Unavailable`,
    `${resolve}unexpected status code [manifests 1]: 429 Too Many Requests`,
    'toomanyrequests: You have reached your pull rate limit. denied: wait',
    'failed to copy: httpReadSeeker: failed open: context deadline exceeded: not found',
    `${resolve}failed to do request: tls: failed to verify certificate: x509: certificate signed by unknown authority`,
    'write /var/lib/containerd/x: permission denied: unknown',
    'failed to extract layer: no space left on device',
    '',
  ])('returns troubled for %s', cause => {
    const verdict = judgePull('ErrImagePull', cause)
    expect(verdict).toMatchObject({ kind: 'troubled', cause: 'registry' })
    expect(verdict).toMatchObject({ message: expect.stringMatching(/^The image could not be pulled yet/) })
  })
})

it('judgePull judges the cause, not the name of the image', () => {
  const cause = 'failed to resolve reference "r.example.org/denied-not-found:403": unexpected EOF'
  expect(judgePull('ErrImagePull', cause).kind).toBe('troubled')
})

it('judgePull hides a signed address', () => {
  const verdict = judgePull('ErrImagePull', 'Get "https://cdn.example.org/blob?sig=abc": EOF')
  expect(verdict).toMatchObject({ message: expect.not.stringContaining('abc') })
})

it('hasCause distinguishes a cause from a mere back-off', () => {
  expect(hasCause('Back-off pulling image "some/lab:1"')).toBe(false)
  expect(hasCause('')).toBe(false)
  expect(hasCause('Back-off pulling image "some/lab:1": ErrImagePull: some/lab:1: not found')).toBe(true)
})
