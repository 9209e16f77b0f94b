/** What one client, and all of them together, may take of a replica: every bound of the API, by name. */
import { z } from 'zod'
import { longestUsername } from '../base/usernames.ts'

const count = (value: number) => z.number().int().positive().default(value)
const bytes = count
const seconds = (value: number) => z.number().positive().default(value)

/** What Node's server takes; it drops those beyond. */
const mostHeaders = 2000

/** docs/limits.md says what is answered beyond each. */
export const limits = z.strictObject({
  maxConnections: count(16_384).describe('open at once; beyond them one is told 503 and closed'),
  maxPipelinedRequests: count(8).describe('unanswered on one connection; beyond them 429'),
  headersTimeoutSeconds: seconds(15).describe(
    'from the first byte of a request, or its connection, to its last header',
  ),
  requestTimeoutSeconds: seconds(30).describe('from the first byte of a request to the last one of its body'),
  keepAliveTimeoutSeconds: seconds(75).describe('how long a connection may idle; longer than balancers keep theirs'),
  stallTimeoutSeconds: seconds(60).describe(
    'a connection that owes an answer, and on which no byte moves for so long, is cut',
  ),
  writeTimeoutSeconds: seconds(10).describe('a reader of events that takes nothing for so long is cut'),

  maxHeaderBytes: bytes(16_384).describe('the request line and all headers; beyond it 431'),
  maxHeaders: z
    .number()
    .int()
    .positive()
    .max(mostHeaders)
    .default(100)
    .describe('of a request; beyond them 431. No more, since the server would drop the others without a word'),
  maxTargetBytes: bytes(4096).describe('path and query, as sent; beyond it 414'),
  maxUsernameBytes: z
    .number()
    .int()
    .positive()
    .max(longestUsername)
    .default(longestUsername)
    .describe('in UTF-8; no more, since a folder bears the name'),
  maxIdempotencyKeyLength: count(255).describe('characters of Idempotency-Key; beyond them 422'),

  maxRequests: count(2048).describe(
    'in flight at once, of all users together, until their answers are sent; beyond them 503',
  ),
  maxRequestsPerUser: count(512).describe('the same of one user; beyond them 429. A Hub is one user'),
  maxTurnsPerUser: count(8).describe(
    'requests of one user that are worked on at once; further ones wait. Callers with admin:jupyterlab need not',
  ),
  maxStreams: count(10_000).describe('event streams open at once, of all users together; beyond them 503'),
  maxStreamsPerUser: count(20).describe('event streams that a user may have open at once; beyond them 429'),

  maxBodyBytes: bytes(327_680).describe('largest body of a request; beyond it 413'),
  maxBodyBytesInFlight: bytes(67_108_864).describe(
    'of all bodies at once, one without a length counting as the largest; beyond it 503',
  ),
  maxBodiesPerUser: count(1).describe('bodies of one user that are being read; beyond them 429'),
  maxJsonItems: count(1024).describe(
    'properties and elements of a body together, counted before it is parsed; beyond them 422',
  ),
  maxJsonDepth: count(8).describe('objects and lists within each other; beyond it 422, as for all that follow'),
  maxOptionLength: count(1024).describe('characters of the value of an option'),
  maxEnvEntries: count(512).describe('variables of a request'),
  maxEnvNameLength: count(256).describe('characters of the name of a variable'),
  maxEnvValueLength: count(32_000).describe(
    'characters of the value of a variable; Linux starts no process with one of 128 KiB',
  ),
  maxEnvBytes: bytes(196_608).describe('names and values of all variables of a request, in UTF-8'),
})

const factor = (value: number) => z.number().min(1).default(value)

/** docs/limits.md says what counts as which. Each replica counts by itself. */
export const rates = z.strictObject({
  createsPerMinute: count(10).describe('creates of one user; beyond them 429, as for all that follow'),
  changesPerMinute: count(60).describe('other changes of one user, such as deletions'),
  readsPerSecond: count(50).describe('reads of one user'),
  documentsPerSecond: count(20).describe(
    'the document, its page and files, of all who ask together; they need no token',
  ),
  burst: factor(2).describe('how many times the number of a rate may come at once, after a pause'),
  privilegedFactor: factor(20).describe('how many times as much callers with admin:jupyterlab may ask'),
  privilegedUsers: z.array(z.string().min(1)).default([]).describe('callers who may do so without that scope'),
})

export type Rates = z.infer<typeof rates>
export type Limits = z.infer<typeof limits>
