/** The peers' schema: the part of the shop's that the rows use. */
export const typeDefs = `
  type Category { id: ID! name: String! items(limit: Int): [Item!]! }
  type Item { id: ID! name: String! price: Float! category: Category! reviews(limit: Int): [Review!]! }
  type Review { id: ID! stars: Int! text: String! }
  input ItemInput { name: String price: Float categoryId: Int }
  type Query {
    item(id: ID): Item
    items(limit: Int): [Item!]!
    categories(limit: Int): [Category!]!
  }
  type Mutation { updateItem(id: ID!, input: ItemInput!): Item }
`

/** The fields of the operations themselves, above a store of the shop. */
export const rootResolvers = (store) => ({
  Query: {
    item: (_root, { id }) => store.item(Number(id)),
    items: (_root, { limit = 10 }) => store.items(limit),
    categories: (_root, { limit = 10 }) => store.categories(limit),
  },
  Mutation: { updateItem: (_root, { id, input }) => store.updateItem(Number(id), input.price) },
})
