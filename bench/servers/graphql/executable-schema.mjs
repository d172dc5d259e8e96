/** The shop's schema with resolvers, for the peers that run graphql-js: relations by DataLoader, one set a request. */
import DataLoader from 'dataloader'
import { buildSchema } from 'graphql'
import { rootResolvers, typeDefs } from './type-definitions.mjs'

const byParent = { cacheKeyFn: ({ id, limit }) => `${id}:${limit}` }

/** @returns the loaders of one request */
export const createLoaders = (store) => ({
  category: new DataLoader(async (ids) => store.categoriesOf(ids)),
  items: new DataLoader(async (parents) => store.itemsOf(parents), byParent),
  reviews: new DataLoader(async (parents) => store.reviewsOf(parents), byParent),
})

/** The context has to hold `loaders`. */
export function createExecutableSchema(store) {
  const schema = buildSchema(typeDefs)
  const resolvers = {
    ...rootResolvers(store),
    Item: {
      category: ({ categoryId }, _args, { loaders }) => loaders.category.load(categoryId),
      reviews: ({ id }, { limit = 10 }, { loaders }) => loaders.reviews.load({ id, limit }),
    },
    Category: {
      items: ({ id }, { limit = 10 }, { loaders }) => loaders.items.load({ id, limit }),
    },
  }
  for (const [type, fields] of Object.entries(resolvers)) {
    for (const [name, resolve] of Object.entries(fields)) {
      schema.getType(type).getFields()[name].resolve = resolve
    }
  }
  return schema
}
