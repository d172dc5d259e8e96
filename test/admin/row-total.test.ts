import { describe, expect, it } from '@jest/globals'
import { readTotal, toTotal, withTotal } from '../../client/admin/row-total.js'
import type { RecordInfo } from '../../client/admin/schema.js'

const tickets = { one: 'Ticket', label: 'Tickets' } as RecordInfo

describe('the number of rows of a list in the admin page', () => {
  it.each([
    ['X-Total-Count', '1', '1 ticket', '1'],
    ['X-Total-Count', '10000', '10,000 tickets', '10,000'],
    ['X-Total-Count-Estimate', '10001', 'More than 10,000 tickets', 'more than 10,000'],
    ['X-Total-Count-Estimate', '981234', 'More than 10,000 tickets', 'more than 10,000'],
  ])('of %s: %s is %s', (name, value, sentence, text) => {
    const total = readTotal(new Headers({ [name]: value }))!
    expect([withTotal(total, tickets), toTotal(total)]).toEqual([sentence, text])
  })

  it('is unknown without a header', () => {
    expect(readTotal(new Headers())).toBeUndefined()
  })
})
