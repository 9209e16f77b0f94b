import { expect, it } from 'vitest'
import { isLoopback, mayGetTokens } from './loopback.ts'

it.each(['localhost', 'localhost:5000', '127.0.0.1', '127.1.2.3:5000', '[::1]:5000'])(
  'isLoopback is true for %s',
  host => {
    expect(isLoopback(host)).toBe(true)
  },
)

it.each(['registry.hub.docker.com', '10.0.0.1:5000', '127.example.org', 'localhost.example.org', '[::2]'])(
  'isLoopback is false for %s',
  host => {
    expect(isLoopback(host)).toBe(false)
  },
)

it.each(['https://skylab.example.org/a', 'http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:1/'])(
  'mayGetTokens is true for %s',
  address => {
    expect(mayGetTokens(address)).toBe(true)
  },
)

it.each([
  'http://skylab.example.org',
  'http://localhost.example.org',
  'ftp://localhost',
  'https://ann@example.org',
  'https://example.org/?a',
  'https://example.org/?',
  'https://example.org/#',
  'example.org',
])('mayGetTokens is false for %s', address => {
  expect(mayGetTokens(address)).toBe(false)
})
