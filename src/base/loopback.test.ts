import { expect, it } from 'vitest'
import { isLoopback } from './loopback.ts'

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
