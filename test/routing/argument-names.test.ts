import { describe, expect, it } from '@jest/globals'
import { readArgumentNames } from '../../src/routing/argument-names.js'

class Sample {
  #secret = 1
  none() {
    return this.#secret
  }
  plain(id: number, body: object) {
    return [id, body]
  }
  async afterDefault(id = 7, ...rest: number[]) {
    return [id, rest]
  }
  async defaulted(id = 7, name = ')') {
    return [id, name, this.#secret]
  }
  *many(id: number) {
    yield id
  }
  async *streamed(query: object) {
    yield query
  }
  destructured({ id }: { id: number }) {
    return id
  }
  ['quo' + 'ted'](headers: object) {
    return headers
  }
  commented(/* the id, ) { */ id: number /* done */) {
    return id
  }
  longNameThatWouldBackTrackForAVeryLongTimeIfTheExpressionWereCareless(
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = 1,
  ) {
    return aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  }
}

describe('readArgumentNames', () => {
  const methods = Sample.prototype as unknown as Record<string, unknown>

  it.each([
    ['none', []],
    ['plain', ['id', 'body']],
    ['defaulted', ['id', 'name']],
    ['many', ['id']],
    ['streamed', ['query']],
    ['quoted', ['headers']],
    ['commented', ['id']],
    [
      'longNameThatWouldBackTrackForAVeryLongTimeIfTheExpressionWereCareless',
      ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'],
    ],
  ])('reads %s', (member, names) => {
    expect(readArgumentNames(methods[member])).toEqual({ names })
  })

  it.each([
    ['an arrow', (id: number, body: object) => [id, body]],
    ['a function', function (id: number, body: object) { return [id, body] }], // prettier-ignore
  ])('reads %s that a decorator replaced', (_, method) => {
    expect(readArgumentNames(method)).toEqual({ names: ['id', 'body'] })
  })

  it.each([
    ['destructured', 'has no name for its argument 1, because it is destructured'],
    ['afterDefault', 'has no name for its argument 2'],
  ])('reports why %s cannot be read', (member, unreadable) => {
    expect(readArgumentNames(methods[member])).toEqual({ unreadable })
  })

  it('reports missing source text', () => {
    expect(readArgumentNames(methods.plain?.constructor.prototype.bind)).toEqual({
      unreadable: 'has no readable source text',
    })
  })
})
