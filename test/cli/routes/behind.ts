/** The same application behind a prefix, which its client has as its baseUrl. */
export { AppModule } from './app.js'
export const options = { basePath: '/api' }
