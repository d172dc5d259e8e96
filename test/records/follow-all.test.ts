/** followAll watches all tables concurrently. Source: decisions, Records: writes. */
import { describe, expect, it } from '@jest/globals'
import { silentLog } from '../silent-log.js'
import { followAll } from '../../src/records/changes/follow-changes.js'

type Options = Parameters<typeof followAll>

/** A feed whose watch calls resolve when the test calls `resolvers`. */
function controlledFeed(): {
  feed: Options[0]['feed']
  watched: string[]
  resolvers: (() => void)[]
  ended: string[]
} {
  const watched: string[] = []
  const ended: string[] = []
  const resolvers: (() => void)[] = []
  const watch = ({ name }: { name: string }) => {
    watched.push(name)
    return new Promise<() => void>((resolve, reject) => {
      resolvers.push(() => {
        if (name === 'broken') reject(new Error('no such table'))
        else resolve(() => ended.push(name))
      })
    })
  }
  return { feed: { watch } as unknown as Options[0]['feed'], watched, resolvers, ended }
}

const tables = (...names: string[]): Options[1] =>
  names.map((name) => ({ name, type: class {} })) as unknown as Options[1]

describe('followAll', () => {
  it('starts watching all tables concurrently, and ends them together', async () => {
    const { feed, watched, resolvers, ended } = controlledFeed()
    const following = followAll({ feed, log: silentLog }, tables('a', 'b', 'c'), () => undefined)
    expect(watched).toEqual(['a', 'b', 'c'])
    for (const one of resolvers) one()
    ;(await following)()
    expect(ended).toEqual(['a', 'b', 'c'])
  })

  it('ends the watches that started when one fails', async () => {
    const { feed, resolvers, ended } = controlledFeed()
    const following = followAll(
      { feed, log: silentLog },
      tables('a', 'broken', 'c'),
      () => undefined,
    )
    for (const one of resolvers) one()
    await expect(following).rejects.toThrow('no such table')
    expect(ended).toEqual(['a', 'c'])
  })
})
