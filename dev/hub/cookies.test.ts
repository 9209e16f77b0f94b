import { expect, test } from 'vitest'
import { CookieJar } from './cookies.ts'

const at = (path: string) => new URL(path, 'http://hub.example/')

test('Cookies sends a cookie to the paths below its own, the longest path first', () => {
  const jar = new CookieJar()
  jar.take(at('/hub/login'), ['_xsrf=of-the-hub; Path=/hub/', 'session=s; HttpOnly; Path=/'])
  jar.take(at('/user/ada/lab'), ['_xsrf=of-the-lab; Path=/user/ada/'])
  expect(jar.header(at('/hub/spawn'))).toBe('_xsrf=of-the-hub; session=s')
  expect(jar.header(at('/user/ada/api'))).toBe('_xsrf=of-the-lab; session=s')
  expect(jar.header(at('/hubs'))).toBe('session=s')
  expect(jar.value(at('/hub/'), '_xsrf')).toBe('of-the-hub')
  expect(jar.value(at('/'), '_xsrf')).toBeUndefined()
})

test('Cookies replaces an old value by a new one, and drops an expired cookie', () => {
  const jar = new CookieJar()
  jar.take(at('/hub/'), ['a=1; Path=/', 'b=x=y', 'c=3'])
  jar.take(at('/hub/'), ['a=2; Path=/', 'c=; Max-Age=0', 'b=; expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/'])
  expect(jar.header(at('/hub/'))).toBe('b=x=y; a=2')
})
