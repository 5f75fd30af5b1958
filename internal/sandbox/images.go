package sandbox

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// imageNames looks up the names of images, each once.
type imageNames struct {
	client *ec2.Client

	mu    sync.Mutex
	known map[string]string // by image ID
}

func (s *Sandbox) imageNames() *imageNames {
	accessKeyID, secret := s.Cloud.AdminCredentials()
	return &imageNames{known: map[string]string{}, client: ec2.New(ec2.Options{
		Region:       s.Region,
		BaseEndpoint: aws.String(s.AWSEndpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(accessKeyID, secret, ""),
	})}
}

// name returns the name of an image. Calls wait for each other: a fleet that is
// launched from one image asks for it once.
func (n *imageNames) name(ctx context.Context, imageID string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, ok := n.known[imageID]; ok {
		return name, nil
	}
	output, err := n.client.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{imageID}})
	if err != nil {
		return "", fmt.Errorf("look up image %s: %w", imageID, err)
	}
	if len(output.Images) == 0 {
		return "", fmt.Errorf("look up image %s: it does not exist", imageID)
	}
	name := aws.ToString(output.Images[0].Name)
	n.known[imageID] = name
	return name, nil
}
