/** The same application with a prefix, which clients have in `baseUrl`. */
export { AppModule } from './app.js'
export const options = { basePath: '/api' }
