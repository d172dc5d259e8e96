/** Source: decisions, Records: writes. Follows all tables without waiting for one after the other. */
import { describe, expect, it } from '@jest/globals'
import { silentLog } from '../silent-log.js'
import { followAll } from '../../src/records/changes/follow-all.js'

type Options = Parameters<typeof followAll>

/** A feed whose tables begin to be watched when the test says so. */
function heldFeed(): {
  feed: Options[0]['feed']
  asked: string[]
  answer: (() => void)[]
  ended: string[]
} {
  const asked: string[] = []
  const ended: string[] = []
  const answer: (() => void)[] = []
  const watch = ({ name }: { name: string }) => {
    asked.push(name)
    return new Promise<() => void>((resolve, reject) => {
      answer.push(() => {
        if (name === 'broken') reject(new Error('no such table'))
        else resolve(() => ended.push(name))
      })
    })
  }
  return { feed: { watch } as unknown as Options[0]['feed'], asked, answer, ended }
}

const tables = (...names: string[]): Options[1] =>
  names.map((name) => ({ name, type: class {} })) as unknown as Options[1]

describe('followAll', () => {
  it('asks for all tables at once, and ends them together', async () => {
    const { feed, asked, answer, ended } = heldFeed()
    const following = followAll({ feed, log: silentLog }, tables('a', 'b', 'c'), () => undefined)
    expect(asked).toEqual(['a', 'b', 'c'])
    for (const one of answer) one()
    ;(await following)()
    expect(ended).toEqual(['a', 'b', 'c'])
  })

  it('ends those that began where one fails', async () => {
    const { feed, answer, ended } = heldFeed()
    const following = followAll(
      { feed, log: silentLog },
      tables('a', 'broken', 'c'),
      () => undefined,
    )
    for (const one of answer) one()
    await expect(following).rejects.toThrow('no such table')
    expect(ended).toEqual(['a', 'c'])
  })
})
