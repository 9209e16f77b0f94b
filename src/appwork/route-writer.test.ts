import { expect, test } from 'vitest'
import { route } from '../../test/kit/apps/routes.ts'
import type { AppRoute } from '../base/app-route.ts'
import { Fenced, RetryLater } from '../base/errors.ts'
import { routeWriter } from './route-writer.ts'

function written(standing: AppRoute | undefined, answer: 'written' | 'older' = 'written', isGone = true) {
  const calls: string[] = []
  const store = {
    put: async ({ uid, phase }: AppRoute) => {
      calls.push(`put ${uid} ${phase}`)
      return answer
    },
    readOne: async () => standing,
    remove: async (id: string, uid: string) => calls.push(`remove ${id} ${uid}`) > 0,
  }
  const writer = routeWriter({ store, isGone: async () => isGone, onDoubt: () => calls.push('doubt') })
  return { writer, calls }
}

const signal = new AbortController().signal

test('put is fenced by a later generation of the same app', async () => {
  const { writer } = written(route({ generation: 9 }), 'older')
  await expect(writer.put(route())).rejects.toThrow(Fenced)
})

test('put waits for a compare when another app’s route stands', async () => {
  const { writer, calls } = written(route({ uid: 'another' }), 'older')
  await expect(writer.put(route())).rejects.toThrow(RetryLater)
  expect(calls).toContain('doubt')
})

test.each([
  ['this app’s', route(), ['put u1 Error']],
  ['another’s', route({ uid: 'another' }), []],
  ['no', undefined, []],
])('withdraw writes where %s route stands only if it is its own', async (_, standing, expected) => {
  const { writer, calls } = written(standing)
  await writer.withdraw(route({ phase: 'Error' }))
  expect(calls).toEqual(expected)
})

test.each([
  ['removes the route of an app that is gone', route(), true, ['remove mlflow u1']],
  ['leaves the route of an app that was made again', route(), false, []],
  ['leaves the route of an app in another namespace', route({ namespace: 'another' }), true, []],
])('gone %s', async (_, standing, isGone, expected) => {
  const { writer, calls } = written(standing, 'written', isGone)
  await writer.gone(route().namespace, 'mlflow', signal)
  expect(calls).toEqual(expected)
})
