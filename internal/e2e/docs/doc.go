// Package docs runs the documentation: each snippet of each page as it is printed,
// in a sandbox whose cluster is called "prod", as the pages call the reader's.
package docs
