/** Log lines as terminals and viewers show them. Source: docs/monitoring.md, Access log. */
import { describe, expect, it } from '@jest/globals'
import type { HttpRequest } from 'filigree'
import { LineWriter } from '../../src/modules/access-log/line-writer.js'

describe('lines of our own log', () => {
  it('contain no control characters that terminals and viewers interpret', () => {
    const request = { id: 'r-1', method: 'GET', ip: '::1', user: null, route: undefined }
    const outcome = { status: 200, ms: 1, bytes: 2, received: 0, aborted: false }
    const sent = { agent: '\u009b31m\u0085\u001b[2J\u007f\u2028\r\n"' }
    const line = new LineWriter().write(request as unknown as HttpRequest, outcome, sent)
    expect(line.trimEnd()).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028]/)
    expect(JSON.parse(line)).toMatchObject(sent)
  })
})
