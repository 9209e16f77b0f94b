import { expect, it, test } from 'vitest'
import { AtQuota, CloudRefused, IntentOver, NoCapacity, RateLimited, Unanswered } from '../errors.ts'
import { briefly, meaningOf } from './answers.ts'
import { Throttle } from './throttle.ts'

const service = (name: string, status = 400, message = 'EC2 says so') => ({
  ...{ name, message, $fault: status >= 500 ? 'server' : 'client', $metadata: { httpStatusCode: status } },
})
const meaning = (error: unknown) =>
  meaningOf(error, { action: 'RunInstances', type: 'm5.large', group: 'standard', throttled: () => 5_000 })

it.each([
  ['RequestLimitExceeded', 503],
  ['Throttling', 400],
  ['ThrottlingException', 400],
  ['RequestThrottled', 400],
  ['SomethingNew', 429],
])('meaningOf waits after %s', (code, status) => {
  const error = meaning(service(code, status))
  expect(error).toBeInstanceOf(RateLimited)
  expect((error as RateLimited).untilMs).toBe(5_000)
})

it.each([
  'VcpuLimitExceeded',
  'InstanceLimitExceeded',
  'MaxSpotInstanceCountExceeded',
  'NetworkInterfaceLimitExceeded',
])('meaningOf is at quota after %s', code => {
  const error = meaning(service(code))
  expect(error).toBeInstanceOf(AtQuota)
  expect((error as AtQuota).group).toBe('standard')
})

it.each([
  ['InsufficientInstanceCapacity', 500],
  ['InsufficientFreeAddressesInSubnet', 400],
  ['Unsupported', 400],
])('meaningOf has no capacity after %s, although its status is %d', (code, status) => {
  expect(meaning(service(code, status))).toBeInstanceOf(NoCapacity)
})

test('meaningOf ends an intent whose machine has ended', () => {
  expect(meaning(service('IdempotentInstanceTerminated'))).toBeInstanceOf(IntentOver)
})

it.each([
  ['an answer 500', service('InternalError', 500)],
  ['an answer 503', service('Unavailable', 503)],
  ['a request in progress', service('ConcurrentRequest')],
  ['a reset', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
  ['an abort', Object.assign(new Error('Request aborted'), { name: 'AbortError' })],
  ['an answer of a proxy', Object.assign(new SyntaxError('not XML'), { $metadata: { httpStatusCode: 403 } })],
])('meaningOf knows nothing after %s', (_, error) => {
  expect(meaning(error)).toBeInstanceOf(Unanswered)
})

it.each([
  ['AuthFailure', 'the credentials are not valid'],
  ['UnauthorizedOperation', 'the credentials lack a permission'],
  ['RequestExpired', 'the clock of this machine is wrong'],
  ['InvalidAMIID.NotFound', 'the image does not exist here'],
  ['InvalidSubnetID.NotFound', 'a subnet of SubnetID does not exist here'],
  ['InvalidGroup.NotFound', 'a security group of SecurityGroupIDs does not exist here'],
  ['InvalidParameterValue', 'a setting is wrong'],
  ['WhateverItIs', 'EC2 answers RunInstances with WhateverItIs'],
])('meaningOf says what someone must change after %s', (code, words) => {
  const error = meaning(service(code))
  expect(error).toBeInstanceOf(CloudRefused)
  expect(error.message.startsWith(words)).toBe(true)
  expect((error as CloudRefused).code).toBe(code)
})

test('meaningOf needs someone when there are no credentials', () => {
  const error = meaning(Object.assign(new Error('Could not load'), { name: 'CredentialsProviderError' }))
  expect(error).toBeInstanceOf(CloudRefused)
})

test('briefly leaves out what could be an encoded secret, and makes one line of bounded length', () => {
  const userData = Buffer.from('#!/bin/sh\necho a secret of the machine that nobody may see').toString('base64')
  expect(briefly(`the value ${userData}\nis not valid`)).toBe('the value … is not valid')
  expect(briefly('word '.repeat(200))).toHaveLength(300)
  expect(briefly(undefined)).toBe('')
})

test('Throttle waits longer after each refusal, up to a minute, and begins anew after another answer', () => {
  const throttle = new Throttle()
  const waits = Array.from({ length: 10 }, (_, i) => throttle.refused(i, i))
  expect(waits.slice(0, 4)).toEqual([1_000, 2_500, 4_750, 8_125])
  expect(waits.at(-1)).toBe(60_000)
  throttle.answered()
  expect(throttle.pauseMs(10)).toBe(0)
  expect(throttle.refused(11, 11)).toBe(1_000)
})

test('Throttle counts calls once when they were on their way together', () => {
  const throttle = new Throttle()
  const waits = [20, 21, 22].map(nowMs => throttle.refused(10, nowMs))
  expect(waits).toEqual([1_000, 999, 998])
  expect(throttle.refused(1_020, 1_030)).toBe(2_500)
})
