/** The minimum cost of a response here: a hono route with ready bytes, without identity and I/O. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { answerQuestions } from '../measure/worker.ts'

export interface BytesQuestion {
  /** Bodies by path. */
  readonly bodies: Readonly<Record<string, string>>
}

/** Answers with its port. */
answerQuestions(async ({ bodies }: BytesQuestion) => {
  const app = new Hono()
  for (const [path, body] of Object.entries(bodies)) app.get(path, c => c.body(body))
  return new Promise<number>(resolve => {
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port))
  })
})
