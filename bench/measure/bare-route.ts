/**
 * The minimum cost of accepting here: a hono route that reads a body, runs one script on Redis and answers 303. It has
 * no identity, schema, image, objects, seal or events.
 */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { answerQuestions } from './worker.ts'

export interface RouteQuestion {
  readonly redisUrl: string
}

const acceptLua = `
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 60000) then
  return 0
end
return redis.call('INCR', KEYS[2])`

type Accepting = Redis & { accept(record: string, last: string, body: string): Promise<number> }

/** Answers with its port. */
answerQuestions(async ({ redisUrl }: RouteQuestion) => {
  const redis = new Redis(redisUrl) as Accepting
  redis.defineCommand('accept', { lua: acceptLua, numberOfKeys: 2 })
  const app = new Hono()
  app.get('/readyz', c => c.text('ready'))
  app.post('/nublado/spawner/v1/labs/:user/create', async c => {
    const body = JSON.stringify(await c.req.json())
    const op = await redis.accept(`{bench}:${c.req.param('user')}:${crypto.randomUUID()}`, '{bench}:last', body)
    return op === 0 ? c.body(null, 409) : c.body(null, 303, { Location: '/' })
  })
  return new Promise<number>(resolve => {
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port))
  })
})
