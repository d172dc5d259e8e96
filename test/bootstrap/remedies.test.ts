/** Each remedy of a report is done as it says, and the application starts. */
import { expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  DeclarationError,
  Get,
  GraphQL,
  Module,
  NoAuth,
  Post,
  type BootstrapOptions,
} from '../../src/index.js'
import type { Class } from '../../src/metadata/note.js'

interface Attempt {
  readonly module: Class
  readonly options?: BootstrapOptions
}

async function remediesOf({ module, options }: Attempt): Promise<string[]> {
  const env = {}
  const starting = bootstrap(module, { listen: false, logger: false, env, ...options })
  try {
    await (await starting).close()
    return []
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    return error.problems.map(({ remedy }) => remedy)
  }
}

function moduleOf(...controllers: Class[]): Class {
  class RemedyModule {}
  Module({ controllers })(RemedyModule)
  return RemedyModule
}

/** A controller with one route. */
function routed(path: string, verb = Get): Class {
  class ItemController {
    item(): string {
      return ''
    }
  }
  const { prototype } = ItemController
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'item')!
  NoAuth(prototype, 'item', descriptor)
  verb(path)(prototype, 'item', descriptor)
  Controller(ItemController)
  return ItemController
}

function graphql(declare: (schema: GraphQL['schema']) => unknown): Attempt {
  const instance = new GraphQL()
  declare(instance.schema)
  instance.registerRoute()
  class GraphqlModule {}
  Module({ graphql: [instance] })(GraphqlModule)
  return { module: GraphqlModule }
}

const resolve = (): null => null

it.each<[string, string | RegExp, () => Attempt, () => Attempt]>([
  [
    'a path without its slash',
    /\//,
    () => ({ module: moduleOf(routed('items/<id:int')) }),
    () => ({ module: moduleOf(routed('/items/<id:int>')) }),
  ],
  [
    'a type of a path that is spelt otherwise',
    'Did you mean "int"?',
    () => ({ module: moduleOf(routed('/items/<id:integer>')) }),
    () => ({ module: moduleOf(routed('/items/<id:int>')) }),
  ],
  [
    'two equal routes',
    /./,
    () => ({ module: moduleOf(routed('/items', Post), routed('/items', Post)) }),
    () => ({ module: moduleOf(routed('/items', Post), routed('/items')) }),
  ],
  [
    'an unknown type of GraphQL that is an enum',
    /schema\.addType, or with schema\.addEnum/,
    () => graphql((schema) => schema.addQuery('color', { type: 'Color', resolve })),
    () =>
      graphql((schema) =>
        schema.addEnum('Color', ['RED']).addQuery('color', { type: 'Color', resolve }),
      ),
  ],
  [
    'an unknown type of an argument',
    /schema\.addInput, or with schema\.addEnum/,
    () => graphql((schema) => schema.addQuery('a', { type: 'Int', args: { by: 'By' }, resolve })),
    () =>
      graphql((schema) =>
        schema
          .addInput('By', { name: 'String' })
          .addQuery('a', { type: 'Int', args: { by: 'By' }, resolve }),
      ),
  ],
])('the remedy of %s', async (_what, remedy, faulty, mended) => {
  expect(await remediesOf(faulty())).toEqual([
    typeof remedy === 'string' ? expect.stringContaining(remedy) : expect.stringMatching(remedy),
  ])
  expect(await remediesOf(mended())).toEqual([])
})
