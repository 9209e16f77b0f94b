/** Every bound of the API: the share of a replica that one client, and all clients together, may take. */
import { z } from 'zod'
import { longestUsername } from '../base/usernames.ts'

const count = (value: number) => z.number().int().positive().default(value)
const bytes = count
const seconds = (value: number) => z.number().positive().default(value)

/** The maximum of Node's server, which drops further headers. */
const mostHeaders = 2000

/** docs/limits.md has the answer beyond each bound. */
export const limits = z.strictObject({
  maxConnections: count(16_384).describe('connections open at once; a further one gets 503 and is closed'),
  maxPipelinedRequests: count(8).describe('unanswered requests on one connection; beyond them 429'),
  headersTimeoutSeconds: seconds(15).describe(
    'time from the first byte of a request, or its connection, to its last header',
  ),
  requestTimeoutSeconds: seconds(30).describe('time from the first byte of a request to the last one of its body'),
  keepAliveTimeoutSeconds: seconds(75).describe('how long a connection may idle; must be longer than the balancer’s'),
  stallTimeoutSeconds: seconds(60).describe('a connection with a pending answer is cut if no byte moves for this long'),
  writeTimeoutSeconds: seconds(10).describe('a reader of events is cut if it takes nothing for this long'),

  maxHeaderBytes: bytes(16_384).describe('size of the request line and all headers; beyond it 431'),
  maxHeaders: z
    .number()
    .int()
    .positive()
    .max(mostHeaders)
    .default(100)
    .describe('headers of a request; beyond them 431. The maximum is 2000, since the server silently drops more'),
  maxTargetBytes: bytes(4096).describe('size of path and query, as sent; beyond it 414'),
  maxUsernameBytes: z
    .number()
    .int()
    .positive()
    .max(longestUsername)
    .default(longestUsername)
    .describe('size of a user name in UTF-8; at most 255, since a folder has this name'),
  maxIdempotencyKeyLength: count(255).describe('characters of Idempotency-Key; beyond them 422'),

  maxRequests: count(2048).describe('requests in flight of all users, until their answers are sent; beyond them 503'),
  maxRequestsPerUser: count(512).describe('the same for one user; beyond them 429. A Hub is one user'),
  maxTurnsPerUser: count(8).describe(
    'requests of one user in work at once; further ones wait, except with admin:jupyterlab',
  ),
  maxStreams: count(10_000).describe('event streams open at once, of all users together; beyond them 503'),
  maxStreamsPerUser: count(20).describe('event streams of one user open at once; beyond them 429'),
  maxLogs: count(200).describe('logs of apps that are sent at once, of all users together; beyond them 503'),
  maxLogsPerUser: count(5).describe('the same for one user; beyond them 429'),
  maxLogBytes: bytes(67_108_864).describe('size of a log as it is sent; beyond it the connection is cut'),
  maxLogSeconds: seconds(3600).describe('how long a log is followed; then it ends'),

  maxBodyBytes: bytes(327_680).describe('largest body of a request; beyond it 413'),
  maxBodyBytesInFlight: bytes(67_108_864).describe(
    'size of all bodies at once, where one without a length counts as the largest; beyond it 503',
  ),
  maxBodiesPerUser: count(1).describe('bodies of one user that are being read; beyond them 429'),
  maxJsonItems: count(1024).describe(
    'properties and elements of a body together, counted before it is parsed; beyond them 422',
  ),
  maxJsonDepth: count(8).describe('nesting of objects and lists; beyond it 422, like all bounds below'),
  maxOptionLength: count(1024).describe('characters of the value of an option'),
  maxEnvEntries: count(512).describe('variables of a request'),
  maxEnvNameLength: count(256).describe('characters of the name of a variable'),
  maxEnvValueLength: count(32_000).describe(
    'characters of the value of a variable; Linux starts no process with a value of 128 KiB',
  ),
  maxEnvBytes: bytes(196_608).describe('names and values of all variables of a request, in UTF-8'),
})

const factor = (value: number) => z.number().min(1).default(value)

/** docs/limits.md assigns requests to rates. Each replica counts separately. */
export const rates = z.strictObject({
  createsPerMinute: count(10).describe('creates of one user; beyond them 429, like all rates below'),
  changesPerMinute: count(60).describe('other changes of one user, such as deletions'),
  readsPerSecond: count(50).describe('reads of one user'),
  documentsPerSecond: count(20).describe(
    'requests for the document, its page and files, of all callers together; they need no token',
  ),
  burst: factor(2).describe('factor for the number of requests at once, after a pause'),
  privilegedFactor: factor(20).describe('factor for the rates of callers with admin:jupyterlab'),
  privilegedUsers: z.array(z.string().min(1)).default([]).describe('callers with that factor who lack the scope'),
})

export type Rates = z.infer<typeof rates>
export type Limits = z.infer<typeof limits>
