/** Log lines for people. */
import { describe, expect, it } from '@jest/globals'
import { toLogText } from '../../src/core/log-text.js'
import { createPaint } from '../../src/core/paint.js'

const toText = (line: object): string =>
  toLogText({ level: 30, ...line }, { paint: createPaint(false) })

describe('a log line as text', () => {
  it('has the time, the level, the message and the fields', () => {
    const time = new Date('2026-05-04T14:03:12').getTime()
    expect(toText({ time, msg: 'ready', routes: 12, took: '87 ms', none: null })).toBe(
      '14:03:12 info ready routes=12 took="87 ms"',
    )
  })

  it('does not repeat a field that the message has', () => {
    const url = 'http://localhost:3000'
    expect(toText({ msg: `listening at ${url}`, url, routes: 1 })).toBe(
      `info listening at ${url} routes=1`,
    )
  })

  it('has the stacks of an error and its causes below', () => {
    const err = { message: 'outer', stack: 'Error: outer\n    at a', cause: { message: 'inner' } }
    expect(toText({ level: 50, msg: 'request failed', err })).toBe(
      'error request failed\n  Error: outer\n      at a\n  Caused by: inner',
    )
  })

  it('lets no text of a client begin a line or change the terminal', () => {
    const forged = 'a\n12:00:00 info forged\u001b[31m'
    const text = toText({ msg: forged, path: forged, err: { message: '\u001b[31mred' } })
    expect(text.split('\n')).toHaveLength(2)
    expect(text).not.toContain('\u001b')
  })
})
